/** Gives what `make` gave for a key before, as long as the key is among the newest `limit`; else makes it. */
export type NewestKept<T> = (key: string, make: () => T) => T;

export function createNewestKept<T>(limit: number): NewestKept<T> {
  const kept = new Map<string, { value: T }>();
  return (key, make) => {
    const known = kept.get(key);
    if (known) return known.value;
    const value = make();
    const [oldest] = kept.keys();
    if (kept.size >= limit && oldest !== undefined) kept.delete(oldest);
    kept.set(key, { value });
    return value;
  };
}
