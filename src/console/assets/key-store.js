/**
 * Keeps the API key for as long as the tab lives. A browser that refuses storage loses it with the next page.
 * @param {() => Pick<Storage, "getItem" | "setItem" | "removeItem">} openStorage throws where storage is forbidden
 */
export function createKeyStore(openStorage) {
  const name = "rollcall-api-key";
  /** @type {string | null} */
  let kept = null;

  /** @param {(storage: ReturnType<typeof openStorage>) => void} use */
  const attempt = (use) => {
    try {
      use(openStorage());
    } catch {
      // `kept` serves this page all the same.
    }
  };
  attempt((storage) => {
    kept = storage.getItem(name);
  });

  return {
    /** @returns {string | null} */
    read: () => kept,
    /** @param {string} key */
    keep(key) {
      kept = key;
      attempt((storage) => storage.setItem(name, key));
    },
    forget() {
      kept = null;
      attempt((storage) => storage.removeItem(name));
    },
  };
}

/**
 * The key in what somebody pasted: blanks around it and a leading `Bearer` do not matter. Undefined when no key
 * looks like that.
 * @param {string} pasted
 * @returns {string | undefined}
 */
export function keyIn(pasted) {
  return /^\s*(?:bearer\s+)?([\x21-\x7e]+)\s*$/i.exec(pasted)?.[1];
}
