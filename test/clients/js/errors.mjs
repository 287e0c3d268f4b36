// Refusals as the SDK shows them, and how it waits where it is told to.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fault, generations, groupId, machineId, newGroup, open, refused, told, version } from "./stand.mjs";

describe("errors", { concurrency: true }, () => {
  for (const generation of generations) {
    const mark = generation.name.at(-1);

    describe(generation.name, { concurrency: 4 }, () => {
      test("the codes that programs tell failures apart by", async () => {
        const { client, calls } = open(generation);
        const group = await newGroup(client);
        const vm = machineId(group, "vm");
        await client.resources.beginCreateOrUpdateByIdAndWait(vm, version, { location: "eastus" });
        const get = (id, at = version) => client.resources.getById(id, at);
        const put = (id, location) => client.resources.beginCreateOrUpdateById(id, version, { location });
        const inGroup = (rest) => `${groupId(group)}/providers/${rest}`;
        for (const [promise, status, code] of [
          [() => get(machineId(group, "none")), 404, "ResourceNotFound"],
          [() => get(machineId("js-none", "vm")), 404, "ResourceGroupNotFound"],
          [() => get(inGroup("Fabrikam.Nothing/things/x")), 404, "InvalidResourceNamespace"],
          [() => get(inGroup("Contoso.Compute/things/x")), 404, "InvalidResourceType"],
          [() => get(vm, "2001-01-01"), 400, "NoRegisteredProviderFound"],
          [() => get("/subscriptions/00000000-0000-0000-0000-00000000dead/resourceGroups/rg", "2021-04-01"), 404, "SubscriptionNotFound"],
          [() => put(vm, "westus"), 409, "InvalidResourceLocation"],
          [() => put(machineId(group, "other"), "moonbase"), 400, "LocationNotAvailableForResourceType"],
          [() => put(machineId(group, "other"), undefined), 400, "LocationRequired"],
          [() => put(machineId("js-none", "vm"), "eastus"), 404, "ResourceGroupNotFound"],
          [() => client.resourceGroups.createOrUpdate("ends-with.", { location: "westus" }), 400, "InvalidResourceGroup"],
          [() => client.resourceGroups.get("js-none"), 404, "ResourceGroupNotFound"],
        ]) {
          const error = await refused(promise(), status, code);
          assert.equal(error.message, told(calls).message);
          assert.equal(calls.at(-1).headers["x-ms-failure-cause"], "gateway");
          assert.ok(calls.at(-1).headers["x-ms-request-id"] && calls.at(-1).headers["x-ms-correlation-request-id"]);
        }
      });

      test("a token that nobody issued", async () => {
        const { client } = open(generation, { token: "nobody-issued-this" });
        await refused(client.resourceGroups.get("any"), 401, "InvalidAuthenticationToken");
      });

      test("429 with Retry-After is waited for, from a provider", async () => {
        const { client, calls } = open(generation, { retry: 3 });
        const group = await newGroup(client);
        const vm = machineId(group, `busy${mark}`);
        await fault("westus", { method: "PUT", pathContains: `busy${mark}`, fault: "throttle=1", count: 2 });
        await client.resources.beginCreateOrUpdateByIdAndWait(vm, version, { location: "westus" });
        const puts = calls.filter((call) => call.method === "PUT" && call.url.includes(`busy${mark}`));
        assert.deepEqual(puts.map((call) => call.status), [429, 429, 201]);
        assert.deepEqual(puts.slice(0, 2).map((call) => call.headers["retry-after"]), ["1", "1"]);
        assert.ok(puts[2].began - puts[0].began > 1990, `${puts[2].began - puts[0].began} ms`);
      });

      test("429 without retries shows the provider's error", async () => {
        const { client, calls } = open(generation, { steer: { "x-contoso-fault": "throttle=7" } });
        const plain = open(generation).client;
        const vm = machineId(await newGroup(plain), "vm");
        await refused(client.resources.beginCreateOrUpdateById(vm, version, { location: "westus" }), 429, "TooManyRequests");
        const { headers } = calls.at(-1);
        assert.deepEqual([headers["retry-after"], headers["x-ms-failure-cause"]], ["7", "service"]);
      });
    });
  }
});
