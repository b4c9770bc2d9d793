// SPDX-License-Identifier: Apache-2.0
// Completes jobs of BullMQ and prints how long that took, as one JSON object:
//   bullmq.js SOCKET nothing|process JOBS CONCURRENCY
const {spawn} = require('child_process');
const {Queue, Worker} = require('bullmq');

const [socket, what, jobs, concurrency] = process.argv.slice(2);
const connection = {path: socket, maxRetriesPerRequest: null};

const processors = {
  nothing: async () => {},
  process: () => new Promise((resolve, reject) => {
    const child = spawn('/bin/true', [], {stdio: 'ignore'});
    child.on('error', reject);
    child.on('exit', code => code === 0 ? resolve() : reject(new Error(`exit code ${code}`)));
  }),
};

async function main() {
  const queue = new Queue('bench', {connection});
  for (let from = 0; from < jobs; from += 1000) {
    const size = Math.min(1000, jobs - from);
    await queue.addBulk(Array.from({length: size}, (_, i) => ({name: 'job', data: from + i})));
  }
  const worker = new Worker('bench', processors[what],
                            {connection, concurrency: Number(concurrency), autorun: false});
  await worker.waitUntilReady();
  const ended = [];
  const all = new Promise((resolve, reject) => {
    worker.on('failed', (job, error) => reject(error));
    worker.on('error', reject);
    // Comes once Redis has answered the completion.
    worker.on('completed', job => {
      ended.push(job.data);
      if (ended.length === Number(jobs)) resolve();
    });
  });
  const start = process.hrtime.bigint();
  worker.run();
  await all;
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  await worker.close();
  const counts = await queue.getJobCounts('completed', 'failed', 'waiting', 'active');
  await queue.close();
  console.log(JSON.stringify({seconds, ended, counts}));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
