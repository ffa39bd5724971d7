// Stands between a client and a program on stdio and writes down what each says, as JSON lines:
//   {at, pid}             started, the pid of the program
//   {at, from, message}   from: "editor" or "server"
//   {at, exit, signal}    ended, or {at, stderr}
// Usage: node wiretap.mjs LOG PROGRAM ARGUMENTS…
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { constants } from "node:os";

const [log, program, ...args] = process.argv.slice(2);
const write = (entry) => appendFileSync(log, JSON.stringify({ at: Date.now(), ...entry }) + "\n");
const child = spawn(program, args, { stdio: "pipe" });
child.on("error", (error) => {
  console.error(error.message);
  process.exit(127);
});
write({ pid: child.pid });

// Hands the bytes on as they are, and writes down each message that is whole.
function tap(from, source, target) {
  let held = Buffer.alloc(0);
  source.on("data", (data) => {
    target.write(data);
    held = Buffer.concat([held, data]);
    for (;;) {
      const end = held.indexOf("\r\n\r\n");
      const length = Number(/content-length: *(\d+)/i.exec(held.subarray(0, Math.max(end, 0)).toString())?.[1]);
      if (end < 0 || !(held.length >= end + 4 + length)) return;
      write({ from, message: JSON.parse(held.subarray(end + 4, end + 4 + length).toString()) });
      held = held.subarray(end + 4 + length);
    }
  });
  source.on("end", () => target.end());
  target.on("error", () => {}); // it ended; its exit is told below
}
tap("editor", process.stdin, child.stdin);
tap("server", child.stdout, process.stdout);
child.stderr.on("data", (data) => {
  write({ stderr: data.toString() });
  process.stderr.write(data);
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("close", (code, signal) => {
  write({ exit: code, signal });
  process.exitCode = code ?? 128 + constants.signals[signal];
  process.stdin.destroy();
});
