/**
 * The parts of the page that are there before anything is known. Throws when the frame is another release's.
 * @typedef {ReturnType<typeof findFrame>} Frame
 */
export function findFrame() {
  return {
    title: find("title", HTMLElement),
    message: find("message", HTMLElement),
    form: find("key-form", HTMLFormElement),
    key: find("key", HTMLInputElement),
    toolbar: find("toolbar", HTMLElement),
    looked: find("looked", HTMLElement),
    heads: find("heads", HTMLElement),
  };
}

/**
 * Screen readers read out what changes here; the same sentence again is no change.
 * @param {Frame} frame
 * @param {string} sentence
 */
export function say({ message }, sentence) {
  if (message.textContent !== sentence) message.textContent = sentence;
}

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
function find(id, kind) {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`The page lacks #${id}.`);
}
