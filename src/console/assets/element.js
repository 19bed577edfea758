/**
 * An element with its attributes and children; `undefined` leaves one out, `true` sets it without a value. Strings become text
 * nodes, whatever is in them: this is the only way in which the page makes markup.
 * @param {string} tag
 * @param {Record<string, string | true | undefined>} attributes
 * @param {...(Node | string | undefined)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/**
 * Changes what is below `shown` to what is below `wanted`, node by node: focus, selection, scrolled places and opened
 * details stay. Elements with the same `data-key` are the same thing. Uses `wanted` up.
 * @param {Element} shown
 * @param {Element} wanted
 */
export function morphChildren(shown, wanted) {
  const keyed = new Map([...shown.children].map((child) => [keyOf(child), child]));
  /** @type {ChildNode | null} */
  let next = shown.firstChild;
  for (const child of [...wanted.childNodes]) {
    const key = keyOf(child);
    const match = key === undefined ? next : keyed.get(key);
    if (!match || !isSameKind(match, child)) {
      shown.insertBefore(child, next);
      continue;
    }
    if (match === next) next = next.nextSibling;
    else shown.insertBefore(match, next);
    morph(match, child);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

/**
 * @param {ChildNode} shown
 * @param {ChildNode} wanted of the same kind
 */
function morph(shown, wanted) {
  if (!(shown instanceof Element && wanted instanceof Element)) {
    if (shown.nodeValue !== wanted.nodeValue) shown.nodeValue = wanted.nodeValue;
    return;
  }
  // Whether details are open is for the reader to say, once they are there.
  for (const { name } of [...shown.attributes]) {
    if (name !== "open" && !wanted.hasAttribute(name)) shown.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (name !== "open" && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  morphChildren(shown, wanted);
}

/** @param {Node} node */
function keyOf(node) {
  return node instanceof HTMLElement ? node.dataset.key : undefined;
}

/**
 * @param {Node} one
 * @param {Node} other
 */
function isSameKind(one, other) {
  return one.nodeName === other.nodeName && keyOf(one) === keyOf(other);
}
