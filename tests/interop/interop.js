// interop - Lull and code that others wrote, on the same messages. SPDX-License-Identifier: MIT
//
//   LULL_PEER=.../webpush_peer node interop.js NAME
//
// Runs one of the checks below and prints what it saw as one line of JSON, for test_interop.py to
// look at. A check throws at the first thing that is not as it must be, with the seed to repeat it.
'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { execFileSync } = require('node:child_process');

const ece = require('http_ece');
const webpush = require('web-push');
const { Webhook } = require('standardwebhooks');
const { Peer } = require('./peer.js');
const { Random } = require('./random.js');

const MESSAGES = 1000;
const TEXT_MAX = 3993;
const OVERHEAD = 103;
const SUBJECT = 'mailto:push@example.com';
const ENDPOINTS = [
    'https://push.example.net/p/abc?d=e',
    'https://push.example.net:8443/p/abc',
    'http://push.example.net:8080/',
    'https://updates.push.services.mozilla.com/wpush/v2/gAAAAABk',
    'https://web.push.apple.com/QGuQyavXutnMH',
];

const encode = (bytes) => Buffer.from(bytes).toString('base64url');
const decode = (text) => Buffer.from(text, 'base64url');

// A browser with a key pair and an auth secret.
function newReceiver(random) {
    const curve = crypto.createECDH('prime256v1');
    curve.setPrivateKey(random.bytes(32));
    const privateKey = Buffer.concat([Buffer.alloc(32), curve.getPrivateKey()]).subarray(-32);
    return { curve, privateKey, p256dh: curve.getPublicKey(), auth: random.bytes(16) };
}

// The shortest, the longest, and any between.
function textFor(index, random) {
    const lengths = [0, TEXT_MAX, 1, TEXT_MAX - 1];
    return random.bytes(index < lengths.length ? lengths[index] : random.below(TEXT_MAX + 1));
}

const eceDecrypt = (receiver, body) => ece.decrypt(body, {
    version: 'aes128gcm', privateKey: receiver.curve, authSecret: encode(receiver.auth),
});

function eceEncrypt(receiver, text, pad) {
    const sender = crypto.createECDH('prime256v1');
    sender.generateKeys();
    return ece.encrypt(text, {
        version: 'aes128gcm', privateKey: sender, dh: encode(receiver.p256dh),
        authSecret: encode(receiver.auth), pad,
    });
}

const lullEncrypt = async (peer, receiver, text, padding) => decode((await peer.get('encrypt', {
    p256dh: encode(receiver.p256dh), auth: encode(receiver.auth), text: encode(text), padding,
})).body);

const lullDecrypt = (peer, receiver, body) => peer.ask('decrypt', {
    private: encode(receiver.privateKey), auth: encode(receiver.auth), body: encode(body),
});

// Anywhere but in the record size: one that is larger than the only record changes nothing.
function flipOneBit(body, random) {
    const changed = Buffer.from(body);
    const place = random.below(body.length - 4);
    changed[place < 16 ? place : place + 4] ^= 1 << random.below(8);
    return changed;
}

// ---- encryption ----

async function encryptForHttpEce(peer, random) {
    const seen = { messages: 0, lengths: [], salts: new Set(), keys: new Set() };
    for (let i = 0; i < MESSAGES; i++) {
        const receiver = newReceiver(random);
        const text = textFor(i, random);
        const padding = i % 2 ? random.below(TEXT_MAX - text.length + 1) : 0;
        const body = await lullEncrypt(peer, receiver, text, padding);
        assert.equal(body.length, text.length + padding + OVERHEAD);
        assert.equal(body.readUInt32BE(16), 4096);
        assert.equal(body[20], 65);
        assert.deepEqual(eceDecrypt(receiver, body), text);
        assert.throws(() => eceDecrypt(receiver, flipOneBit(body, random)));
        assert.throws(() => eceDecrypt(newReceiver(random), body));
        seen.salts.add(encode(body.subarray(0, 16)));
        seen.keys.add(encode(body.subarray(21, 86)));
        seen.lengths.push(text.length);
        seen.messages++;
    }
    return {
        messages: seen.messages, salts: seen.salts.size, keys: seen.keys.size,
        shortest: Math.min(...seen.lengths), longest: Math.max(...seen.lengths),
    };
}

async function decryptFrom(peer, random, encrypt) {
    const seen = { messages: 0, lengths: [], refused: 0 };
    for (let i = 0; i < MESSAGES; i++) {
        const receiver = newReceiver(random);
        const text = textFor(i, random);
        const body = encrypt(receiver, text, i);
        const { text: read, error } = await lullDecrypt(peer, receiver, body);
        assert.equal(error, undefined, `message ${i} of ${text.length} bytes`);
        assert.deepEqual(decode(read), text);
        for (const changed of [flipOneBit(body, random), body.subarray(0, body.length - 1)]) {
            seen.refused += (await lullDecrypt(peer, receiver, changed)).error === 'syntax';
        }
        seen.refused += (await lullDecrypt(peer, newReceiver(random), body)).error === 'syntax';
        seen.lengths.push(text.length);
        seen.messages++;
    }
    return {
        messages: seen.messages, refused: seen.refused,
        shortest: Math.min(...seen.lengths), longest: Math.max(...seen.lengths),
    };
}

const decryptFromHttpEce = (peer, random) => decryptFrom(peer, random, (receiver, text, index) =>
    eceEncrypt(receiver, text, index % 2 ? random.below(TEXT_MAX - text.length + 1) : 0));

const decryptFromWebPush = (peer, random) => decryptFrom(peer, random, (receiver, text) =>
    webpush.encrypt(encode(receiver.p256dh), encode(receiver.auth), text, 'aes128gcm').cipherText);

// A key pair that Lull made is one for others, too.
async function keypairs(peer) {
    const publics = new Set();
    for (let i = 0; i < 100; i++) {
        const pair = await peer.get('keypair');
        const curve = crypto.createECDH('prime256v1');
        curve.setPrivateKey(decode(pair.private));
        assert.equal(encode(curve.getPublicKey()), pair.public);
        publics.add(pair.public);
    }
    return { pairs: publics.size };
}

// What web-push would send over the wire: its body and its token at once.
async function wholeRequests(peer, random) {
    let requests = 0;
    for (let i = 0; i < 100; i++) {
        const receiver = newReceiver(random);
        const endpoint = ENDPOINTS[i % ENDPOINTS.length];
        const text = random.bytes(1 + random.below(TEXT_MAX));
        const keys = webpush.generateVAPIDKeys();
        const details = webpush.generateRequestDetails(
            { endpoint, keys: { p256dh: encode(receiver.p256dh), auth: encode(receiver.auth) } },
            text, { vapidDetails: { subject: SUBJECT, ...keys } });
        const claims = await peer.get('vapid_verify', {
            header: details.headers.Authorization, origin: new URL(endpoint).origin,
            now_ms: Date.now(),
        });
        assert.equal(claims.public, keys.publicKey);
        const { text: read } = await lullDecrypt(peer, receiver, details.body);
        assert.deepEqual(decode(read), text);
        requests++;
    }
    return { requests };
}

// ---- VAPID ----

async function verifyTokensOfWebPush(peer, random) {
    const seen = { accepted: 0, changed: 0, late: 0, elsewhere: 0 };
    for (let i = 0; i < 100; i++) {
        const keys = webpush.generateVAPIDKeys();
        const { origin } = new URL(ENDPOINTS[i % ENDPOINTS.length]);
        const { Authorization: header } = webpush.getVapidHeaders(
            origin, SUBJECT, keys.publicKey, keys.privateKey, 'aes128gcm');
        const now_ms = Date.now();
        const verify = (what) => peer.ask('vapid_verify', { header, origin, now_ms, ...what });
        const claims = await verify({});
        assert.equal(claims.error, undefined);
        assert.equal(claims.audience, origin);
        assert.equal(claims.subject, SUBJECT);
        assert.equal(claims.public, keys.publicKey);
        const hours = (claims.expires_ms - now_ms) / 3600000;
        assert(hours > 11.9 && hours < 12.1, `${hours} h`);
        seen.accepted++;
        // another key's k, with the same token
        const other = header.replace(keys.publicKey, webpush.generateVAPIDKeys().publicKey);
        seen.changed += (await verify({ header: other })).error === 'range';
        seen.late += (await verify({ now_ms: claims.expires_ms + 1000 })).error === 'range';
        seen.elsewhere += (await verify({ origin: 'https://other.example' })).error === 'range';
    }
    return seen;
}

// With node:crypto alone, which takes a signature as r and s.
function readToken(header) {
    const [, token, k] = header.match(/^vapid t=([\w.-]+), ?k=([\w-]+)$/);
    const [head, claims, signature] = token.split('.');
    const point = decode(k);
    assert.equal(point.length, 65);
    const key = crypto.createPublicKey({
        format: 'jwk',
        key: {
            kty: 'EC', crv: 'P-256', x: encode(point.subarray(1, 33)),
            y: encode(point.subarray(33)),
        },
    });
    const isGood = crypto.verify('sha256', Buffer.from(`${head}.${claims}`),
                                 { key, dsaEncoding: 'ieee-p1363' }, decode(signature));
    return { isGood, k, head: JSON.parse(decode(head)), claims: JSON.parse(decode(claims)) };
}

async function readTokensOfLull(peer) {
    let tokens = 0;
    for (let i = 0; i < 100; i++) {
        const keys = webpush.generateVAPIDKeys();
        const endpoint = ENDPOINTS[i % ENDPOINTS.length];
        const now_ms = Date.now();
        const { header } = await peer.get('vapid_authorize', {
            key: JSON.stringify(keys), subject: SUBJECT, endpoint, now_ms,
        });
        const token = readToken(header);
        assert(token.isGood);
        assert.equal(token.k, keys.publicKey);
        assert.equal(token.head.alg, 'ES256');
        assert.equal(token.head.typ, 'JWT');
        assert.equal(token.claims.aud, new URL(endpoint).origin);
        assert.equal(token.claims.sub, SUBJECT);
        assert(Number.isInteger(token.claims.exp));
        const left_ms = token.claims.exp * 1000 - now_ms;
        assert(left_ms > 3600000 && left_ms <= 24 * 3600000, `${left_ms} ms`);
        tokens++;
    }
    return { tokens };
}

async function importKeysOfWebPush(peer) {
    let keys = 0;
    for (let i = 0; i < 200; i++) {
        const pair = webpush.generateVAPIDKeys();
        const key = await peer.get('vapid_import', { key: JSON.stringify(pair), subject: SUBJECT });
        assert.equal(key.public, pair.publicKey);
        assert.equal(key.subject, SUBJECT);
        assert.deepEqual(JSON.parse(key.pair), pair);
        keys++;
    }
    return { keys };
}

// As its command prints them, for people and as JSON.
async function importPrintedKeys(peer) {
    const publics = [];
    for (const format of [[], ['--json']]) {
        const printed = execFileSync(
            process.execPath,
            [require.resolve('web-push/src/cli.js'), 'generate-vapid-keys', ...format],
            { encoding: 'utf8' });
        const { public: key } = await peer.get('vapid_import', { key: printed, subject: SUBJECT });
        assert(printed.includes(key));
        publics.push(key);
    }
    return { keys: new Set(publics).size };
}

// Each format of Lull's in the hands of others.
async function exportKeys(peer) {
    let keys = 0;
    for (let i = 0; i < 50; i++) {
        const key = await peer.get('vapid_new', { subject: SUBJECT });
        const point = decode(key.public);
        const x = encode(point.subarray(1, 33));
        for (const read of [
            crypto.createPrivateKey(key.pem),
            crypto.createPrivateKey({ format: 'jwk', key: JSON.parse(key.jwk) }),
        ]) {
            assert.equal(read.asymmetricKeyDetails.namedCurve, 'prime256v1');
            assert.equal(read.export({ format: 'jwk' }).x, x);
        }
        const pair = JSON.parse(key.pair);
        const { Authorization: header } = webpush.getVapidHeaders(
            'https://push.example.net', SUBJECT, pair.publicKey, pair.privateKey, 'aes128gcm');
        const token = readToken(header);
        assert(token.isGood);
        assert.equal(token.k, key.public);
        keys++;
    }
    return { keys };
}

// PKCS #8 and SEC 1, as node:crypto writes them.
async function importPem(peer) {
    let keys = 0;
    for (const type of ['pkcs8', 'sec1']) {
        for (let i = 0; i < 20; i++) {
            const { privateKey, publicKey } =
                crypto.generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
            const { x, y } = publicKey.export({ format: 'jwk' });
            const key = await peer.get('vapid_import', {
                key: privateKey.export({ format: 'pem', type }), subject: SUBJECT,
            });
            assert.equal(key.public,
                         encode(Buffer.concat([Buffer.from([4]), decode(x), decode(y)])));
            keys++;
        }
    }
    return { keys };
}

// ---- webhooks ----

const WEBHOOKS = 200;

// Text that is valid UTF-8, since standardwebhooks signs it as text.
function webhookFor(index, random) {
    const secret = 'whsec_' + random.bytes(24 + random.below(41)).toString('base64');
    const body = Buffer.from(random.text(index === 0 ? 0 : random.below(500)));
    return { secret, id: 'msg_' + random.bytes(12).toString('hex'), body };
}

async function signWebhooks(peer, random) {
    const seen = { verified: 0, refused: 0, empty: 0 };
    for (let i = 0; i < WEBHOOKS; i++) {
        const { secret, id, body } = webhookFor(i, random);
        const timestamp_s = Math.floor(Date.now() / 1000);
        const older = 'whsec_' + random.bytes(32).toString('base64');
        const { signature } = await peer.get('webhook_sign', {
            secrets: [secret, older], id, timestamp_s, body: encode(body),
        });
        const headers = {
            'webhook-id': id, 'webhook-timestamp': String(timestamp_s),
            'webhook-signature': signature,
        };
        for (const known of [secret, older]) {
            new Webhook(known).verify(body, headers, { jsonParse: false });
        }
        seen.verified++;
        seen.empty += body.length === 0;
        try {
            new Webhook(secret).verify(body.toString() + 'x', headers, { jsonParse: false });
        } catch {
            seen.refused++;
        }
    }
    return seen;
}

async function verifyWebhooks(peer, random) {
    const seen = { verified: 0, refused: 0, empty: 0 };
    for (let i = 0; i < WEBHOOKS; i++) {
        const { secret, id, body } = webhookFor(i, random);
        const now_s = Math.floor(Date.now() / 1000);
        const signature = new Webhook(secret).sign(id, new Date(now_s * 1000), body.toString());
        const verify = (what) => peer.ask('webhook_verify', {
            secrets: [secret], id, timestamp: String(now_s), signature, body: encode(body), now_s,
            ...what,
        });
        assert.deepEqual(await verify({}), {});
        seen.verified++;
        seen.empty += body.length === 0;
        const { error } = await verify({ body: encode(Buffer.concat([body, Buffer.from('x')])) });
        seen.refused += error === 'unknown';
    }
    return seen;
}

// v1a, of which standardwebhooks for JavaScript knows nothing: by node:crypto.
async function ed25519Webhooks(peer, random) {
    const seen = { verified: 0, read: 0 };
    for (let i = 0; i < WEBHOOKS; i++) {
        const { id } = webhookFor(i, random);
        const body = random.bytes(random.below(2000)); // not even text
        const { privateKey, publicKey } = crypto.generateKeyPairSync('ed25519');
        const { x, d } = privateKey.export({ format: 'jwk' });
        const halves = i % 2 ? [decode(d)] : [decode(d), decode(x)];
        const timestamp_s = 1700000000 + i;
        const content = Buffer.concat([Buffer.from(`${id}.${timestamp_s}.`), body]);

        const { signature } = await peer.get('webhook_sign', {
            secrets: ['whsk_' + Buffer.concat(halves).toString('base64')], id, timestamp_s,
            body: encode(body),
        });
        const [version, text] = signature.split(',');
        assert.equal(version, 'v1a');
        assert(crypto.verify(null, content, publicKey, Buffer.from(text, 'base64')));
        seen.read++;

        const theirs = 'v1a,' + crypto.sign(null, content, privateKey).toString('base64');
        assert.deepEqual(await peer.ask('webhook_verify', {
            secrets: ['whpk_' + decode(x).toString('base64')], id, timestamp: String(timestamp_s),
            signature: theirs, body: encode(body), now_s: timestamp_s,
        }), {});
        seen.verified++;
    }
    return seen;
}

// ---- ----

const CHECKS = {
    encryptForHttpEce, decryptFromHttpEce, decryptFromWebPush, keypairs, wholeRequests,
    verifyTokensOfWebPush, readTokensOfLull, importKeysOfWebPush, importPrintedKeys, exportKeys,
    importPem, signWebhooks, verifyWebhooks, ed25519Webhooks,
};

async function main() {
    const seed = process.env.LULL_TEST_SEED ?? crypto.randomBytes(6).readUIntBE(0, 6).toString();
    process.stderr.write(`LULL_TEST_SEED=${seed}\n`);
    const peer = new Peer(process.env.LULL_PEER);
    const seen = await CHECKS[process.argv[2]](peer, new Random(seed));
    assert.equal(await peer.close(), 0);
    process.stdout.write(JSON.stringify(seen) + '\n');
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
