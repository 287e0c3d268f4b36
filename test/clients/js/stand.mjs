// What all tests share: the clients of a running Portico, in the two
// generations of the SDK that are in use, and a look at what its regions hold.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import * as v8 from "@azure/arm-resources";
import * as v7 from "arm-resources-7";

function given(name) {
  const value = process.env[name];
  assert.ok(value, `the environment has no ${name}`);
  return value;
}

export const endpoint = given("PORTICO_URL");
export const subscription = given("PORTICO_SUBSCRIPTION");
export const second = given("PORTICO_SECOND_SUBSCRIPTION"); // of the same tenant
export const version = given("PORTICO_VERSION"); // of the providers' types
const control = given("PORTICO_CONTROL");
const regions = JSON.parse(given("PORTICO_REGIONS")); // the providers' own addresses by region

const presenting = (token) => ({ getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }) });

export const credential = presenting(given("PORTICO_TOKEN"));

// The generations differ in their pipeline, in how often they poll before they
// hand out a poller, and in how one is brought back from its text.
export const generations = [
  {
    name: "arm-resources 8",
    pollsFirst: 0,
    tokenOf: (page) => page.continuationToken,
    connect: (...of) => new v8.ResourceManagementClient(...of),
    // What it restores has properties where its pollers that begin have methods.
    resume: async (client, method, _, text) => {
      const poller = v8.restorePoller(client, text, client.resources[method]);
      await poller.submitted();
      return { isDone: () => poller.isDone, poll: poller.poll, getResult: () => poller.result };
    },
  },
  {
    name: "arm-resources 7",
    pollsFirst: 1,
    tokenOf: v7.getContinuationToken,
    connect: (...of) => new v7.ResourceManagementClient(...of),
    resume: (client, method, args, text) => client.resources[method](...args, { resumeFrom: text }),
  },
];

// watched gives the options of a client and a record of what it sent and got.
// steer are headers for its writes; its retries are switched off, as they would
// hide a wrong answer, unless a test is about them.
export function watched({ steer = {}, retry = 0 } = {}) {
  const calls = [];
  const policy = {
    name: "watch",
    sendRequest: async (request, next) => {
      if (request.method !== "GET" && request.method !== "HEAD") {
        for (const [name, value] of Object.entries(steer)) request.headers.set(name, value);
      }
      const began = performance.now();
      const response = await next(request);
      calls.push({ method: request.method, url: request.url, began, status: response.status, headers: response.headers.toJSON(), body: response.bodyAsText });
      return response;
    },
  };
  const options = {
    endpoint,
    additionalPolicies: [{ policy, position: "perRetry" }],
    retryOptions: { maxRetries: retry },
  };
  return { options, calls };
}

// open connects a client of a generation, see watched; to another subscription,
// or with another token.
export function open(generation, settings = {}) {
  const { options, calls } = watched(settings);
  const present = settings.token ? presenting(settings.token) : credential;
  return { client: generation.connect(present, settings.subscription ?? subscription, options), calls };
}

export const groupId = (group, of = subscription) => `/subscriptions/${of}/resourceGroups/${group}`;
export const machineId = (group, name) => `${groupId(group)}/providers/Contoso.Compute/virtualMachines/${name}`;

let names = 0;

// newGroup makes a group of a name that no other test has.
export async function newGroup(client, tags) {
  const name = `js-${++names}`;
  await client.resourceGroups.createOrUpdate(name, { location: "westus", tags });
  return name;
}

// finish polls to the end without the pauses that the service asks for: the
// operations of these tests take a moment.
export async function finish(poller) {
  const abortSignal = AbortSignal.timeout(60_000);
  while (!poller.isDone()) {
    await poller.poll({ abortSignal });
    if (!poller.isDone()) await pause(20, undefined, { signal: abortSignal });
  }
  return poller.getResult();
}

// begun is the answer that an operation began with, polls aside.
export const begun = (calls) => calls.findLast((call) => call.method !== "GET" && call.method !== "HEAD");

// refused expects the service's error and gives it.
export async function refused(promise, statusCode, code) {
  let error;
  await assert.rejects(promise, (thrown) => {
    error = thrown;
    return true;
  });
  assert.equal(error.name, "RestError", error.stack);
  assert.deepEqual([error.statusCode, error.code], [statusCode, code], error.message);
  return error;
}

// told is the error in the last answer, of which the SDK does not show all.
export const told = (calls) => JSON.parse(calls.at(-1).body).error;

export async function collect(items) {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
}

// fault has the provider of a region misbehave.
export async function fault(region, rule) {
  const answer = await fetch(`${regions[region]}/contoso/faults`, { method: "POST", body: JSON.stringify(rule) });
  assert.equal(answer.status, 201);
}

// holders are the regions whose provider has the resource.
export async function holders(id) {
  const found = [];
  for (const [region, address] of Object.entries(regions)) {
    const { value } = await (await fetch(`${address}/contoso/resources`)).json();
    if (value.some((held) => held.toLowerCase() === id.toLowerCase())) found.push(region);
  }
  return found;
}

// killAndRestart ends the gateway by SIGKILL and starts it anew.
export async function killAndRestart() {
  const answer = await fetch(`${control}/restart`, { method: "POST" });
  assert.equal(answer.status, 204);
}
