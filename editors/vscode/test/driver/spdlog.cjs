// In place of @vscode/spdlog, whose native part is not built: without it VS Code writes no log, and its output channels
// stay empty. install.sh puts it there. The lines are those of spdlog's pattern "%Y-%m-%d %H:%M:%S.%e [%l] %v".
const { appendFileSync, mkdirSync } = require("node:fs");
const { dirname } = require("node:path");

const levels = ["trace", "debug", "info", "warning", "error", "critical", "off"];
let standard = 2;

class Logger {
  constructor(_type, _name, path) {
    Object.assign(this, { path, level: standard, plain: false });
  }
  getLevel() {
    return this.level;
  }
  setLevel(level) {
    this.level = level;
  }
  setPattern() {
    this.plain = false;
  }
  clearFormatters() {
    this.plain = true;
  }
  flush() {}
  drop() {}
  write(level, text) {
    if (level < this.level) return;
    const when = new Date().toISOString().replace("T", " ").slice(0, -1);
    appendFileSync(this.path, this.plain ? text : `${when} [${levels[level]}] ${text}\n`);
  }
}
for (const [method, level] of Object.entries({ trace: 0, debug: 1, info: 2, warn: 3, error: 4, critical: 5 }))
  Logger.prototype[method] = function (text) {
    this.write(level, text);
  };

async function create(name, path) {
  mkdirSync(dirname(path), { recursive: true });
  return new Logger("rotating", name, path);
}

// One by one, so that Node sees them as names of an ES module too.
exports.version = 0;
exports.Logger = Logger;
exports.setLevel = (level) => (standard = level);
exports.setFlushOn = () => {};
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
