// What node's web-push takes to make a request of the same message: microseconds each, the median of
// rounds. Usage: node webpush_peer.js MESSAGES
'use strict';

const crypto = require('node:crypto');
const path = require('node:path');
const webpush = require(path.join(__dirname, 'peers/node_modules/web-push'));

const TEXT_SIZE = 200;
const receiver = crypto.createECDH('prime256v1');
receiver.generateKeys();
const subscription = {
  endpoint: 'https://push.example.org/wpush/v2/gAAAAABf',
  keys: {
    p256dh: receiver.getPublicKey().toString('base64url'),
    auth: crypto.randomBytes(16).toString('base64url'),
  },
};
const keys = webpush.generateVAPIDKeys();
const options = { vapidDetails: { subject: 'mailto:bench@example.org', ...keys } };
const text = crypto.randomBytes(TEXT_SIZE);

const messages = Number(process.argv[2]);
const start = process.hrtime.bigint();
for (let i = 0; i < messages; i++) {
  webpush.generateRequestDetails(subscription, text, options);
}
console.log((Number(process.hrtime.bigint() - start) / 1000 / messages).toFixed(2));
