import { type Request, Router } from "express";
import { AppError, badRequest, unavailable } from "../errors.ts";
import { sendJson } from "./answer-error.ts";
import { methodNotAllowed } from "./methods.ts";

/** A request whose body nobody has read yet. */
export interface HookRequest {
  /** What stands in the place of the path's parameters, decoded. */
  params: Readonly<Record<string, string>>;
  /** `name` in lower case; undefined when the header is absent. */
  header(name: string): string | undefined;
  /** The body as it was sent, read when this is called. Throws 413 as soon as it is too large. */
  bytes(): Promise<Buffer>;
}

export interface HookAnswer {
  status: number;
  body: object;
  headers?: Readonly<Record<string, string>>;
}

/** An address that others post signed bytes to. It answers JSON; what `handle` throws is answered as an error. */
export interface Hook {
  /** Parameters in braces: `/api/hooks/webhook/{id}`. */
  path: string;
  /** Largest body in bytes. */
  maxBytes: number;
  handle(request: HookRequest): Promise<HookAnswer>;
}

/** Bodies that a hook holds in memory at the same time, in full-sized ones: nobody has to sign to send one. */
const bodiesAtOnce = 8;

/** The route of a hook. It belongs before everything that parses bodies: a signature is made over raw bytes. */
export function hookRoute({ path, maxBytes, handle }: Hook): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const route = path.replaceAll(/\{(\w+)\}/g, ":$1");
  let heldBytes = 0;
  router.post(route, async (req, res) => {
    res.locals.route = path;
    let size = 0;
    const hold = (bytes: number) => {
      size += bytes;
      heldBytes += bytes;
      if (size > maxBytes) throw tooLarge(maxBytes);
      if (heldBytes > maxBytes * bodiesAtOnce) throw unavailable("Too much arrives at once; try again.", 5);
    };
    const bytes = async () => {
      if (Number(req.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
      return readBytes(req, hold);
    };
    try {
      const params = req.params as Record<string, string>;
      const { status, body, headers = {} } = await handle({ params, header: (name) => req.get(name), bytes });
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      sendJson(res, status, JSON.stringify(body));
    } finally {
      heldBytes -= size;
    }
  });
  router.all(route, () => {
    throw methodNotAllowed(["POST"]);
  });
  return router;
}

const tooLarge = (maxBytes: number) =>
  new AppError(413, `The body is larger than ${maxBytes} bytes; send less.`);

/** `hold` is told of each chunk and throws to have the rest thrown away unread. */
function readBytes(req: Request, hold: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const stopListening = () =>
      req.off("data", take).off("end", done).off("close", broken).off("error", broken);
    const fail = (error: unknown) => {
      stopListening();
      reject(error);
    };
    const broken = () => fail(badRequest("The body ended early."));
    const take = (chunk: Buffer) => {
      try {
        hold(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        fail(error);
      }
    };
    const done = () => {
      stopListening();
      resolve(Buffer.concat(chunks));
    };
    req.on("data", take).on("end", done).on("close", broken).on("error", broken);
  });
}
