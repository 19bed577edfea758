import type { Tx } from "../platform/db/index.ts";
import type { DeliverySource } from "./schema.ts";
import type { DeliveryRow } from "./store.ts";

/**
 * How a source works one of its deliveries off once more, in the caller's transaction, in which the delivery is
 * locked. Notes in it what becomes of the delivery. Throws when that cannot be done now.
 */
export type Replayer = (tx: Tx, delivery: DeliveryRow) => Promise<void>;

/** The sources whose deliveries can be replayed. */
export type Replayers = Readonly<Partial<Record<DeliverySource, Replayer>>>;
