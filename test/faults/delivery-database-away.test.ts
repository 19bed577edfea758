import { randomUUID } from "node:crypto";
import { expect, inject, it } from "vitest";
import { startApp } from "../support/app.ts";
import { freshDatabase } from "../support/databases.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { deliver, workedOff } from "../support/github-deliveries.ts";
import { examplePayload, webhookSecret } from "../support/github-payloads.ts";

it.skipIf(inject("mysqlUrl") === null)(
  "a delivery is answered 503 while the database is away, and taken when it is sent again",
  async () => {
    const { config } = await freshDatabase("mysql", { migrated: false });
    const proxy = await startFaultProxy(inject("mysqlUrl") ?? "");
    const app = await startApp({
      env: {
        DATABASE_URL: proxy.url(config.engine === "mysql" ? config.url : ""),
        APP_ID: "1",
        PRIVATE_KEY: "no key",
        WEBHOOK_SECRET: webhookSecret,
      },
    });
    try {
      const delivery = { event: "ping", id: randomUUID(), payload: examplePayload("ping") };
      proxy.refuse();
      const refused = await deliver(app, delivery);
      expect([refused.status, Object.keys(refused.json)]).toEqual([503, ["error"]]);
      expect(refused.headers.get("retry-after")).toBe("2");
      proxy.resume();
      expect((await deliver(app, delivery)).status).toBe(202);
      expect(await workedOff(app, delivery.id)).toMatchObject({ state: "ignored" });
      expect(await app.db.read("deliveries").pluck("external_id")).toEqual([delivery.id]);
    } finally {
      proxy.resume();
      await app.stop();
      await proxy.stop();
    }
  },
);
