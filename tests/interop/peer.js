// peer - asks webpush_peer (peer.c): one question a line, and its answers in the same order.
// SPDX-License-Identifier: MIT
'use strict';

const { spawn } = require('node:child_process');
const readline = require('node:readline');

class Peer {
    constructor(program) {
        this.waiting = [];
        this.process = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
        this.ended = new Promise((resolve) => {
            this.process.on('error', () => resolve('not started'));
            this.process.on('close', (code, signal) => resolve(signal ?? code));
        });
        this.ended.then((how) => {
            this.waiting.forEach(({ reject }) => reject(new Error(`the peer ended: ${how}`)));
        });
        this.process.stdin.on('error', () => {}); // it has ended, which is said above
        readline.createInterface({ input: this.process.stdout }).on('line', (line) => {
            this.waiting.shift().resolve(JSON.parse(line));
        });
    }

    // The answer, be it a result or {error}.
    ask(name, fields) {
        return new Promise((resolve, reject) => {
            this.waiting.push({ resolve, reject });
            this.process.stdin.write(JSON.stringify({ do: name, ...fields }) + '\n');
        });
    }

    // The result. An error of the library is one of the test.
    async get(name, fields) {
        const answer = await this.ask(name, fields);
        if (answer.error) {
            throw new Error(`${name}: ${answer.error}`);
        }
        return answer;
    }

    // Its exit code, which is not 0 if a sanitizer found something.
    async close() {
        this.process.stdin.end();
        return this.ended;
    }
}

module.exports = { Peer };
