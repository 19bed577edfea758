import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What webhook calls are measured against: a bare server that checks an HMAC and does one durable insert a request. */
const [home = ".", secret = ""] = [process.env.ROLLCALL_HOME, process.env.WEBHOOK_SECRET];
const db = new DatabaseSync(join(home, "yardstick.sqlite"));
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
db.exec("CREATE TABLE deliveries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, at INTEGER NOT NULL)");
const insert = db.prepare("INSERT INTO deliveries (body, at) VALUES (?, ?)");

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    const body = Buffer.concat(chunks);
    const expected = createHmac("sha256", secret).update(body).digest();
    const given = Buffer.from(String(req.headers["x-signature"] ?? ""), "hex");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      res.writeHead(401).end();
      return;
    }
    insert.run(body.toString(), Date.now());
    res.writeHead(202, { "content-type": "application/json" }).end('{"ok":true}');
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on("SIGTERM", () => {
  server.closeAllConnections();
  server.close(() => process.exit(0));
});
