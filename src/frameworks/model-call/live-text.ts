/** Text of one call on its way to those who watch. */
export interface LiveText {
  add(text: string): void;
  /** Ends it; nothing is sent from then on. What is left the end of the step tells. */
  end(): void;
}

/**
 * Sends text in windows of that many milliseconds: the first one begins with the first text, so that a quick answer
 * sends nothing, and the next with the first text that is not sent yet.
 */
export function createLiveText(send: (text: string) => void, windowMs: number): LiveText {
  let waiting = "";
  let timer: NodeJS.Timeout | undefined;

  function sendWindow(): void {
    timer = undefined;
    const end = endOfWords(waiting);
    if (end === 0) return;
    const text = waiting.slice(0, end);
    waiting = waiting.slice(end);
    send(text);
  }

  return {
    add(text) {
      waiting += text;
      if (waiting !== "") timer ??= setTimeout(sendWindow, windowMs);
    },
    end: () => clearTimeout(timer),
  };
}

/**
 * Where the word begins that the text may go on with. Half a secret would not be recognised and taken out, nor a
 * bearer token without the word before it.
 */
function endOfWords(text: string): number {
  let end = text.length;
  while (end > 0 && isPrintableAscii(text.charCodeAt(end - 1))) end--;
  return text.slice(0, end).replace(/\bBearer\s$/, "").length;
}

const isPrintableAscii = (code: number): boolean => code > 0x20 && code < 0x7f;
