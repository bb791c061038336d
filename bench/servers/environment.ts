/** The value of an environment variable that a reference server cannot do without; throws where it is missing. */
function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is required.`);
  return value;
}

/** `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, the database that holds `bench_qr_codes`. */
export const databaseUrl = required("DATABASE_URL");

/** The TCP port to listen on, on 127.0.0.1. */
export const port = Number(required("PORT"));

/** Connections a server keeps to the database. */
export const poolSize = Number(process.env["POOL_SIZE"] ?? 16);
