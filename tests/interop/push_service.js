// push_service - web-push-testing, a push service for practice, on a free port of loopback. Prints
// {"port": ...} when it is there. SPDX-License-Identifier: MIT
'use strict';

const http = require('node:http');
const net = require('node:net');

const Server = require('web-push-testing/src/server.js');
const { PushApiModel } = require('web-push-testing/src/PushApiModel.js');

const probe = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => {
        const server = new Server(new PushApiModel(), port);
        // its own listen would be open to the network
        server._app.listen = (number, done) =>
            http.createServer(server._app).listen(number, '127.0.0.1', done);
        console.log = () => process.stdout.write(JSON.stringify({ port }) + '\n');
        server.startServer();
    });
});
