// Generic resources: by id and by their parts, lists and their pages.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { collect, endpoint, finish, generations, holders, machineId, newGroup, open, version } from "./stand.mjs";

const machine = ["Contoso.Compute", "", "virtualMachines"]; // a type at the top has no parent
const disk = ["Contoso.Compute", "virtualMachines/vm", "disks"];

// same compares ids: the SDK writes resourcegroups in some paths, and providers
// may tell an id as they were asked for it.
const same = (id, want) => assert.equal(id.toLowerCase(), want.toLowerCase());

describe("resources", { concurrency: true }, () => {
  for (const generation of generations) {
    describe(generation.name, { concurrency: 4 }, () => {
      test("create, read, update and delete by parts", async () => {
        const { client } = open(generation);
        const group = await newGroup(client);
        const made = await client.resources.beginCreateOrUpdateAndWait(group, ...machine, "vm", version, { location: "westus", tags: { a: "1" }, properties: { size: 1 } });
        assert.deepEqual([made.name, made.type], ["vm", "Contoso.Compute/virtualMachines"]);
        same(made.id, machineId(group, "vm"));
        await client.resources.beginCreateOrUpdateAndWait(group, ...disk, "d", version, { location: "westus" });
        assert.deepEqual(await holders(`${made.id}/disks/d`), ["westus"]);
        assert.equal((await client.resources.checkExistence(group, ...disk, "d", version)).body, true);
        assert.equal((await client.resources.get(group, ...disk, "d", version)).id, `${made.id}/disks/d`);
        const updated = await client.resources.beginUpdateAndWait(group, ...machine, "vm", version, { tags: { b: "2" } });
        assert.deepEqual([updated.tags, updated.properties.size], [{ b: "2" }, 1]);
        await client.resources.beginDeleteAndWait(group, ...disk, "d", version);
        assert.equal((await client.resources.checkExistence(group, ...disk, "d", version)).body, false);
        await client.resources.beginDeleteAndWait(group, ...machine, "vm", version);
        assert.equal((await client.resources.checkExistence(group, ...machine, "vm", version)).body, false);
        await client.resources.beginDeleteAndWait(group, ...machine, "vm", version); // there is none
      });

      test("names that have to be escaped", async () => {
        const { client } = open(generation);
        const group = await newGroup(client);
        for (const name of ["with space", "grün", "a+b", "it's (one)", "100@x"]) {
          const made = await client.resources.beginCreateOrUpdateAndWait(group, ...machine, name, version, { location: "eastus" });
          assert.equal(made.name, name);
          same(made.id, machineId(group, name));
          assert.equal((await client.resources.getById(made.id, version)).id, made.id);
          assert.equal((await client.resources.checkExistenceById(made.id, version)).body, true);
          await finish(await client.resources.beginDeleteById(made.id, version));
          assert.deepEqual(await holders(made.id), []);
        }
      });

      test("list with a filter, further members, and pages", async () => {
        const { client, calls } = open(generation);
        const group = await newGroup(client);
        const want = [];
        for (let i = 0; i < 23; i++) {
          const name = `vm-${i}`, location = ["westus", "eastus", "northeurope"][i % 3];
          want.push(machineId(group, name));
          await client.resources.beginCreateOrUpdateByIdAndWait(machineId(group, name), version, { location, tags: { third: String(i % 3) } });
        }
        const all = await collect(client.resources.listByResourceGroup(group, { top: 4, expand: "createdTime,changedTime,provisioningState" }));
        assert.deepEqual(all.map((item) => item.id).sort(), [...want].sort());
        assert.equal(calls.filter((call) => call.method === "GET").length, 6);
        for (const item of all) {
          assert.equal(item.provisioningState, "Succeeded");
          assert.ok(item.createdTime instanceof Date && item.changedTime >= item.createdTime, `${item.createdTime} ${item.changedTime}`);
          assert.equal(item.properties, undefined);
        }
        const filtered = async (filter) => (await collect(client.resources.list({ filter, top: 5 }))).map((item) => item.name).sort();
        const numbered = (numbers) => numbers.map((i) => `vm-${i}`).sort();
        const here = `resourceGroup eq '${group}' and `;
        assert.deepEqual(await filtered(`${here}location eq 'East US'`), numbered([1, 4, 7, 10, 13, 16, 19, 22]));
        assert.deepEqual(await filtered(`${here}substringof('vm-1', name)`), numbered([1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]));
        assert.deepEqual(await filtered(`${here}resourceType eq 'contoso.compute/virtualmachines' and name ne 'vm-0'`), numbered([...Array(23).keys()].slice(1)));
        const tagged = await collect(client.resources.listByResourceGroup(group, { filter: "tagName eq 'third' and tagValue eq '2'" }));
        assert.deepEqual(tagged.map((item) => item.name).sort(), numbered([2, 5, 8, 11, 14, 17, 20]));

        // A walk that another client takes up.
        const pages = client.resources.listByResourceGroup(group, { top: 10 }).byPage();
        const first = (await pages.next()).value;
        const continuationToken = generation.tokenOf(first);
        assert.ok(continuationToken.startsWith(endpoint));
        const rest = [];
        for await (const page of open(generation).client.resources.listByResourceGroup(group).byPage({ continuationToken })) rest.push(...page);
        assert.deepEqual([...first, ...rest].map((item) => item.id).sort(), [...want].sort());
      });
    });
  }
});
