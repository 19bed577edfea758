import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startFaultProxy } from "../../support/fault-proxy.ts";

/** A proxy in front of a server that sends back what it gets and says goodbye at the end. */
async function proxyBeforeEcho() {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => socket.write(chunk));
    socket.on("end", () => socket.end("bye"));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const proxy = await startFaultProxy(`tcp://127.0.0.1:${port}`);
  onTestFinished(async () => {
    await proxy.stop();
    server.close();
  });
  return proxy;
}

async function client(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.setEncoding("utf8");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

async function ask(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [answer] = await once(socket, "data");
  return answer;
}

/** The error with which the socket ends. */
async function ending(socket: Socket): Promise<string | undefined> {
  const [error] = await once(socket, "error");
  return error.code;
}

test("passes bytes and ends on, each direction by itself", async () => {
  const proxy = await proxyBeforeEcho();
  const socket = await client(proxy.port);
  expect(await ask(socket, "hello")).toBe("hello");
  socket.end();
  expect((await once(socket, "data"))[0]).toBe("bye");
});

test("while paused nothing arrives on old and new connections, and everything does afterwards", async () => {
  const proxy = await proxyBeforeEcho();
  const old = await client(proxy.port);
  expect(await ask(old, "before")).toBe("before");
  proxy.pause();
  const fresh = await client(proxy.port);
  const received: string[] = [];
  const both = [old, fresh].map((socket) => once(socket, "data").then(([text]) => received.push(text)));
  old.write("old");
  fresh.write("fresh");
  // Only a connection that does not lead through the proxy can show that time has passed for the others.
  const other = await proxyBeforeEcho();
  expect(await ask(await client(other.port), "tick")).toBe("tick");
  expect(received).toEqual([]);
  proxy.resume();
  await Promise.all(both);
  expect(received.sort()).toEqual(["fresh", "old"]);
});

test("refuse resets old and new connections until resume", async () => {
  const proxy = await proxyBeforeEcho();
  const old = await client(proxy.port);
  expect(await ask(old, "before")).toBe("before");
  const oldEnd = ending(old);
  proxy.refuse();
  expect(await oldEnd).toBe("ECONNRESET");
  expect(await ending(connect(proxy.port, "127.0.0.1"))).toBe("ECONNRESET");
  proxy.resume();
  expect(await ask(await client(proxy.port), "again")).toBe("again");
});

test("dropAll resets what is there, delay holds back, url leads through the proxy", async () => {
  const proxy = await proxyBeforeEcho();
  const old = await client(proxy.port);
  const oldEnd = ending(old);
  expect(await ask(old, "before")).toBe("before");
  proxy.dropAll();
  expect(await oldEnd).toBe("ECONNRESET");
  proxy.delay(30);
  const start = performance.now();
  expect(await ask(await client(proxy.port), "late")).toBe("late");
  expect(performance.now() - start).toBeGreaterThan(50); // 30 ms each way; the lower bound cannot be missed by slowness.
  expect(proxy.url("mysql://u:p@db.example:3306/rollcall")).toBe(
    `mysql://u:p@127.0.0.1:${proxy.port}/rollcall`,
  );
});
