import { randomUUID } from "node:crypto";
import { Setting } from "../entities/setting.js";
import { type Database, UniqueViolation } from "./database/sql.js";
import { tableOf } from "./database/table.js";

const settings = tableOf(Setting);
const FIND = `SELECT ${settings.select} FROM ${settings.name} WHERE \`name\` = ?`;

/** The value kept under a name; of several processes that make one at once, the first one's counts for all. */
async function keptSetting(database: Database, name: string, make: () => string): Promise<string> {
  for (;;) {
    const [row] = await database.read.all<Setting>(FIND, [name]);
    if (row !== undefined) return row.value;
    try {
      const values = settings.values({ name, value: make() });
      await database.transaction((sql) => sql.run(settings.insert, values), { rerunAfterLostCommit: true });
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }
}

/** The id that this database's keys in Redis start with. */
export function installationId(database: Database): Promise<string> {
  return keptSetting(database, "installation_id", randomUUID);
}
