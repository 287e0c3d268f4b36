// Pollers that outlive their process, and the gateway's. These tests end the
// gateway, so that nothing runs beside them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fault, finish, generations, holders, killAndRestart, machineId, newGroup, open, version } from "./stand.mjs";

for (const generation of generations) {
  describe(`restarts, ${generation.name}`, () => {
    for (const form of ["azure-async", "accepted", "accepted-async"]) {
      test(`a poller from its text: ${form}`, async () => {
        const { client } = open(generation, { steer: { "x-contoso-async": form, "x-contoso-duration": "1s" } });
        const id = machineId(await newGroup(client), "vm");
        const body = { location: "northeurope" };
        const poller = await client.resources.beginCreateOrUpdateById(id, version, body);
        const text = poller.toString();
        await killAndRestart();
        const fresh = open(generation, { retry: 3 });
        const resumed = await generation.resume(fresh.client, "beginCreateOrUpdateById", [id, version, body], text);
        const made = await finish(resumed);
        assert.deepEqual([made.id, made.location], [id, "northeurope"]);
        assert.deepEqual(fresh.calls.filter((call) => call.method !== "GET"), []);
        assert.deepEqual(await holders(id), ["northeurope"]);
      });
    }

    test("the deletion of a group goes on", async () => {
      const { client } = open(generation, { retry: 3 });
      const group = await newGroup(client);
      const id = machineId(group, "vm");
      await client.resources.beginCreateOrUpdateByIdAndWait(id, version, { location: "eastus" });
      await fault("eastus", { method: "DELETE", pathContains: group, fault: "async=location" });
      const poller = await client.resourceGroups.beginDelete(group);
      await killAndRestart();
      await finish(poller);
      assert.deepEqual(await holders(id), []);
      assert.equal((await client.resourceGroups.checkExistence(group)).body, false);
    });
  });
}
