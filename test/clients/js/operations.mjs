// The patterns by which providers tell of work that takes its time, by the
// SDK's own pollers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { begun, endpoint, finish, generations, holders, machineId, newGroup, open, refused, told, version } from "./stand.mjs";

const duration = { "x-contoso-duration": "400ms", "x-contoso-retry-after": "1" };
const creates = { state: 201, "azure-async": 201, accepted: 202, "accepted-async": 202 };
const changes = ["location", "azure-async", "azure-async-only", "no-url"];

// pollsHere expects every polling URL to be on the host that the client called:
// it sends its token there.
function pollsHere(call) {
  for (const name of ["location", "azure-asyncoperation", "operation-location"]) {
    if (call.headers[name]) assert.equal(new URL(call.headers[name]).origin, endpoint);
  }
}

describe("operations", { concurrency: true }, () => {
  for (const generation of generations) {
    describe(generation.name, { concurrency: 8 }, () => {
      for (const elsewhere of [false, true]) {
        const lie = elsewhere ? { "x-contoso-fault": "foreign-location" } : {};
        const where = elsewhere ? ", polling URLs elsewhere" : "";

        for (const [form, status] of Object.entries(creates)) {
          if (elsewhere && form === "state") continue; // has no URL
          test(`create: ${form}${where}`, async () => {
            const { client, calls } = open(generation, { steer: { ...duration, ...lie, "x-contoso-async": form } });
            const id = machineId(await newGroup(client), form);
            const poller = await client.resources.beginCreateOrUpdateById(id, version, { location: "eastus", tags: { a: "b" }, properties: { size: 2 } });
            assert.equal(begun(calls).status, status);
            pollsHere(begun(calls));
            const made = await poller.pollUntilDone();
            assert.ok(calls.some((call) => call.method === "GET"));
            assert.deepEqual([made.id, made.location, made.tags, made.properties.size], [id, "eastus", { a: "b" }, 2]);
            assert.equal((await client.resources.getById(id, version)).properties.provisioningState, "Succeeded");
            assert.deepEqual(await holders(id), ["eastus"]);
          });
        }

        for (const form of changes) {
          if (elsewhere && form === "no-url") continue;
          test(`update and delete: ${form}${where}`, async () => {
            const plain = open(generation).client;
            const id = machineId(await newGroup(plain), form);
            await plain.resources.beginCreateOrUpdateByIdAndWait(id, version, { location: "northeurope" });
            const { client, calls } = open(generation, { steer: { ...duration, ...lie, "x-contoso-async": form } });
            const update = await client.resources.beginUpdateById(id, version, { tags: { form } });
            assert.equal(begun(calls).status, 202);
            pollsHere(begun(calls));
            await finish(update);
            assert.deepEqual((await client.resources.getById(id, version)).tags, { form });
            const remove = await client.resources.beginDeleteById(id, version);
            assert.equal(begun(calls).status, 202);
            pollsHere(begun(calls));
            await finish(remove);
            assert.deepEqual(await holders(id), []);
            await refused(client.resources.getById(id, version), 404, "ResourceNotFound");
          });
        }
      }

      test("the pauses are the service's", async () => {
        const { client, calls } = open(generation, { steer: { "x-contoso-async": "azure-async", "x-contoso-duration": "3s", "x-contoso-retry-after": "1" } });
        const id = machineId(await newGroup(client), "vm");
        await client.resources.beginCreateOrUpdateByIdAndWait(id, version, { location: "westus" });
        const polls = calls.filter((call) => call.url.toLowerCase().includes("operationstatuses")).slice(generation.pollsFirst);
        assert.ok(polls.length >= 2, `${polls.length} polls`);
        for (const [i, poll] of polls.slice(1).entries()) {
          assert.equal(polls[i].headers["retry-after"], "1");
          assert.ok(poll.began - polls[i].began > 990, `${poll.began - polls[i].began} ms`);
        }
      });

      for (const [form, outcome, method] of [
        ["azure-async", "Failed", "create"], ["azure-async", "Canceled", "create"], ["state", "Failed", "create"], ["accepted", "Failed", "create"],
        ["azure-async", "Failed", "delete"], ["location", "Failed", "delete"], ["location", "Failed", "update"],
      ]) {
        test(`${method} that ends as ${outcome}: ${form}`, async () => {
          const plain = open(generation).client;
          const id = machineId(await newGroup(plain), "vm");
          if (method !== "create") await plain.resources.beginCreateOrUpdateByIdAndWait(id, version, { location: "westus", tags: { old: "1" } });
          const { client, calls } = open(generation, { steer: { ...duration, "x-contoso-async": form, "x-contoso-outcome": outcome } });
          const poller = await {
            create: () => client.resources.beginCreateOrUpdateById(id, version, { location: "westus" }),
            update: () => client.resources.beginUpdateById(id, version, { tags: { fresh: "1" } }),
            delete: () => client.resources.beginDeleteById(id, version),
          }[method]();
          if (form === "location" || form === "accepted") {
            const error = await refused(finish(poller), 409, "OperationFailed");
            assert.match(error.message, /failed as the request asked/);
            assert.equal(error.message, told(calls).message);
          } else if (outcome === "Canceled") {
            await assert.rejects(finish(poller), /Operation was canceled/);
          } else if (form === "state") {
            await assert.rejects(finish(poller), /long-running operation has failed/);
          } else {
            await assert.rejects(finish(poller), /long-running operation has failed. OperationFailed. The operation failed as the request asked/);
          }
          if (method !== "create") assert.deepEqual((await plain.resources.getById(id, version)).tags, { old: "1" });
        });
      }

      test("a poller that its caller gives up leaves the operation alone", async () => {
        const { client, calls } = open(generation, { steer: { "x-contoso-async": "accepted-async", "x-contoso-duration": "3s" } });
        const id = machineId(await newGroup(client), "vm");
        const poller = await client.resources.beginCreateOrUpdateById(id, version, { location: "westus" });
        const given = new AbortController();
        poller.onProgress(() => given.abort());
        await assert.rejects(poller.pollUntilDone({ abortSignal: given.signal }), { name: "AbortError" });
        const text = poller.toString();
        const resumed = await generation.resume(client, "beginCreateOrUpdateById", [id, version, { location: "westus" }], text);
        assert.equal((await finish(resumed)).id, id);
        assert.equal(calls.filter((call) => call.method === "PUT" && call.url.includes(id.slice(1))).length, 1);
      });

      test("a request that its caller gives up may take effect all the same", async () => {
        const plain = open(generation).client;
        const id = machineId(await newGroup(plain), "vm");
        const { client } = open(generation, { steer: { "x-contoso-fault": "slow=10s" } });
        const given = new AbortController();
        const sent = client.resources.beginCreateOrUpdateById(id, version, { location: "westus" }, { abortSignal: given.signal });
        sent.catch(() => {}); // is looked at below
        while (!(await holders(id)).length) await new Promise((resolve) => setTimeout(resolve, 20));
        given.abort();
        await assert.rejects(sent, { name: "AbortError" });
        assert.equal((await plain.resources.getById(id, version)).id, id);
        await plain.resources.beginDeleteByIdAndWait(id, version);
      });
    });
  }
});
