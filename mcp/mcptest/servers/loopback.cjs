// Loaded before a server that can only listen on all interfaces: keeps it on
// the loopback one.
const net = require('node:net')
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (port, ...rest) {
  if (typeof port === 'number' || typeof port === 'string') {
    return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...rest)
  }
  return listen.call(this, port, ...rest)
}
