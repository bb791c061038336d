import { getMetadataArgsStorage } from "typeorm";
import { fromDatabaseTime, toDatabaseTime } from "../../entities/column-types.js";
import type { SqlValue } from "./sql.js";

/** An entity's table for fixed statements, made from its decorators, so that a column cannot be forgotten. */
export interface Table<E> {
  name: string;
  /** The select list: every column under its property's name. */
  select: string;
  /** INSERT of every column but the generated one. */
  insert: string;
  /** The places of one row of `insert`. */
  places: string;
  /** The values of `insert`, in its order; the generated column is `id` or `seq`. */
  values(row: Omit<E, "id" | "seq"> & { id?: unknown }): SqlValue[];
  /** The same for some of the columns. */
  view<Property extends keyof E & string>(
    properties: readonly Property[],
  ): Pick<Table<Pick<E, Property>>, "select" | "read">;
  /** Turns a selected row, in place, into the entity's property types. */
  read(row: unknown): E;
  /** `column = ?, …` for these properties, and their values. */
  assign(changes: Partial<E>): { text: string; values: SqlValue[] };
}

const snake = (property: string) => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Describes an entity's table; call it once, where the statements are defined. */
export function tableOf<E extends object>(entity: new () => E): Table<E> {
  const storage = getMetadataArgsStorage();
  const name = storage.tables.find((candidate) => candidate.target === entity)?.name;
  if (name === undefined) throw new Error(`${entity.name} is not an entity.`);
  const generated = storage.generations.find((candidate) => candidate.target === entity)?.propertyName;
  const columns = storage.columns.filter((column) => column.target === entity);
  const inserted = columns.filter((column) => column.propertyName !== generated).map((column) => column.propertyName);
  const places = `(${inserted.map(() => "?").join(", ")})`;
  const propertiesOf = (type: string, of = columns) =>
    of.filter((column) => column.options.type === type).map((column) => column.propertyName);
  const isTime = new Set(propertiesOf("datetime"));

  const quoted = new Map(columns.map(({ propertyName }) => [propertyName, `\`${snake(propertyName)}\``]));

  const toSql = (property: string, value: unknown): SqlValue =>
    typeof value === "string" && isTime.has(property) ? toDatabaseTime(value) : (value as SqlValue);

  function viewOf(of: typeof columns) {
    const booleans = propertiesOf("boolean", of);
    const times = propertiesOf("datetime", of);
    return {
      select: of.map(({ propertyName }) => `${quoted.get(propertyName)} AS \`${propertyName}\``).join(", "),
      read(raw: unknown) {
        const row = raw as Record<string, unknown>;
        for (const property of booleans) row[property] = row[property] === 1;
        for (const property of times) {
          const value = row[property];
          if (value !== null) row[property] = fromDatabaseTime(value as string);
        }
        return row as never;
      },
    };
  }

  return {
    name,
    ...viewOf(columns),
    view: (properties) => {
      const wanted = new Set<string>(properties);
      return viewOf(columns.filter((column) => wanted.has(column.propertyName)));
    },
    places,
    insert: `INSERT INTO ${name} (${inserted.map((property) => quoted.get(property)).join(", ")}) VALUES ${places}`,
    values: (row) => inserted.map((property) => toSql(property, (row as Record<string, unknown>)[property])),
    assign(changes) {
      const entries = Object.entries(changes);
      return {
        text: entries.map(([property]) => `${quoted.get(property)} = ?`).join(", "),
        values: entries.map(([property, value]) => toSql(property, value)),
      };
    },
  };
}
