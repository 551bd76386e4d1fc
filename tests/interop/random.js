// random - bytes and numbers from a seed, so that a failure can be repeated (LULL_TEST_SEED=...).
// SPDX-License-Identifier: MIT
'use strict';

const crypto = require('node:crypto');

class Random {
    constructor(seed) {
        const key = crypto.createHash('sha256').update(seed).digest().subarray(0, 16);
        this.stream = crypto.createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
    }

    bytes(count) {
        return this.stream.update(Buffer.alloc(count));
    }

    // 0 to limit - 1
    below(limit) {
        return this.bytes(6).readUIntBE(0, 6) % limit;
    }

    pick(list) {
        return list[this.below(list.length)];
    }

    // That many characters, each of 1 to 4 bytes in UTF-8, without half surrogates.
    text(count) {
        const ranges = [[0x20, 0x7f], [0, 0x80], [0x80, 0x800], [0x800, 0xd800], [0xe000, 0x10000],
                        [0x10000, 0x110000]];
        let text = '';
        for (let i = 0; i < count; i++) {
            const [from, to] = this.pick(ranges);
            text += String.fromCodePoint(from + this.below(to - from));
        }
        return text;
    }
}

module.exports = { Random };
