// bullmq - the work of bench/queue and bench/deliver, done by BullMQ: one step of it, on the Redis at a
// port of loopback. Prints one line of JSON. SPDX-License-Identifier: MIT
//
//   node bullmq.js add|bulk|process|delayed|deliver|serve REDIS-PORT [WORD=VALUE ...]
//
// A job's data is what `lull serve` would be told: the target and the body. A job that is done is
// removed, as Lull's messages are.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const { Queue, Worker } = require('bullmq');
const webpush = require('web-push');

const BODY = 'A parcel is on its way to you. '.repeat(7).slice(0, 197);
const BULK_SIZE = 1000;
const SUBSCRIPTIONS = 1000;
const REGISTRATION = 'APA91b'.padEnd(150, 'x');

const [step, redisPort, ...words] = process.argv.slice(2);
const options = {
  queue: 'messages',
  count: 10000,
  warm_up: 0, // deliveries before those that count
  at_once: 100, // calls of add
  concurrency: 100, // of the worker
  due_per_s: 1000,
  delay_ms: 0, // until the first is due
  sink: 'https://127.0.0.1',
  ca: '',
  port: 0, // of serve
  ...Object.fromEntries(words.map((word) => word.split('='))),
};
for (const name of ['count', 'warm_up', 'at_once', 'concurrency', 'due_per_s', 'delay_ms']) {
  options[name] = Number(options[name]);
}
const connection = { host: '127.0.0.1', port: Number(redisPort), maxRetriesPerRequest: null };
const queue = new Queue(options.queue, { connection, defaultJobOptions: { removeOnComplete: true } });

const secondsSince = (start) => Number(process.hrtime.bigint() - start) / 1e9;
const number = (i) => String(i).padStart(10, '0');
const webhook = (i) => ({ url: `${options.sink}/hook/${number(i)}`, body: BODY });

function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

function subscriptions() {
  return Array.from({ length: SUBSCRIPTIONS }, () => {
    const receiver = crypto.createECDH('prime256v1');
    receiver.generateKeys();
    return {
      p256dh: receiver.getPublicKey().toString('base64url'),
      auth: crypto.randomBytes(16).toString('base64url'),
    };
  });
}

async function addSingly(count, dataOf) {
  let next = 0;
  const adder = async () => {
    while (next < count) {
      await queue.add('message', dataOf(next++));
    }
  };
  await Promise.all(Array.from({ length: options.at_once }, adder));
}

async function addInBulk(count, dataOf, optionsOf = () => undefined) {
  for (let first = 0; first < count; first += BULK_SIZE) {
    const jobs = [];
    for (let i = first; i < Math.min(first + BULK_SIZE, count); i++) {
      jobs.push({ name: 'message', data: dataOf(i), opts: optionsOf(i) });
    }
    await queue.addBulk(jobs);
  }
}

// Runs a worker until so many jobs are done.
async function work(count, processor, begin = async () => {}) {
  let done = 0;
  const settings = { connection, concurrency: options.concurrency, removeOnComplete: { count: 0 } };
  const worker = new Worker(options.queue, processor, { ...settings, autorun: false });
  const failed = [];
  await worker.waitUntilReady();
  const ended = new Promise((resolve) => {
    const countOne = () => (++done === count ? resolve() : undefined);
    worker.on('completed', countOne);
    worker.on('failed', (job, error) => {
      failed.push(error.message);
      countOne();
    });
  });
  const start = process.hrtime.bigint();
  worker.run();
  await begin();
  await ended;
  const wall_s = secondsSince(start);
  await worker.close();
  return { wall_s, failed: failed.length, failure: failed[0] };
}

const steps = {
  async add() {
    const start = process.hrtime.bigint();
    await addSingly(options.count, webhook);
    return { wall_s: secondsSince(start) };
  },

  async bulk() {
    const start = process.hrtime.bigint();
    await addInBulk(options.count, webhook);
    return { wall_s: secondsSince(start) };
  },

  // Of jobs that are there already.
  async process() {
    return work(options.count, async () => {});
  },

  // The lateness of a job: from when it is due to when its processor is called.
  async delayed() {
    const firstDue = Date.now() + options.delay_ms;
    const late = [];
    const dueOf = (i) => firstDue + Math.floor((i * 1000) / options.due_per_s);
    await addInBulk(
      options.count,
      (i) => ({ due: dueOf(i), ...webhook(i) }),
      (i) => ({ delay: Math.max(0, dueOf(i) - Date.now()) }),
    );
    const added_ms = Date.now() - firstDue;
    const result = await work(options.count, async (job) => {
      late.push(Date.now() - job.data.due);
    });
    return { ...result, added_ms, p50_ms: percentile(late, 0.5), p99_ms: percentile(late, 0.99) };
  },

  // Encrypted and signed by node's web-push, to a sink by HTTPS.
  async deliver() {
    const keys = subscriptions();
    const agent = new https.Agent({ keepAlive: true, maxSockets: 64, ca: fs.readFileSync(options.ca) });
    const vapid = { subject: 'mailto:bench@example.org', ...webpush.generateVAPIDKeys() };
    const push = (i) => ({
      subscription: {
        endpoint: `${options.sink}/fcm/send/${number(i)}:${REGISTRATION}`,
        keys: keys[i % SUBSCRIPTIONS],
      },
      body: BODY,
    });
    const send = (job) =>
      webpush.sendNotification(job.data.subscription, job.data.body, {
        vapidDetails: vapid,
        TTL: 86400,
        urgency: 'high',
        agent,
      });
    const deliver = (count) => work(count, send, () => addInBulk(count, push));
    if (options.warm_up > 0) {
      await deliver(options.warm_up);
    }
    const startCpu = process.cpuUsage();
    const result = await deliver(options.count);
    const cpu = process.cpuUsage(startCpu);
    agent.destroy();
    return { ...result, cpu_s: (cpu.user + cpu.system) / 1e6 };
  },
};

// POST: the message is added, and then answered 202. Until it is ended by a signal.
function serve() {
  const answer = (response, status, body) => {
    const text = JSON.stringify(body);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
    response.writeHead(status, headers).end(text);
  };
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', async () => {
      const message = parts.length > 0 ? JSON.parse(Buffer.concat(parts)) : null;
      const job = message && (await queue.add('message', { url: message.webhook.url, body: message.body }));
      answer(response, job ? 202 : 200, { id: job?.id });
    });
  });
  server.listen(Number(options.port), '127.0.0.1');
}

async function main() {
  await queue.waitUntilReady();
  if (step === 'serve') {
    return serve();
  }
  console.log(JSON.stringify(await steps[step]()));
  await queue.close();
}

main().catch((error) => {
  console.error(`bullmq ${step}: ${error.stack}`);
  process.exit(2);
});
