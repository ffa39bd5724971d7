// A PostgreSQL for server-postgres: the real one in WebAssembly, on 127.0.0.1 at the port given, with two tables.
import { PGlite } from "@electric-sql/pglite"
import { PGLiteSocketServer } from "@electric-sql/pglite-socket"

const db = await PGlite.create()
await db.exec('create table users (id int primary key, name text); create table "Order Items" (id int); insert into users values (1, \'Ada\')')
await new PGLiteSocketServer({ db, host: "127.0.0.1", port: Number(process.argv[2]) }).start()
