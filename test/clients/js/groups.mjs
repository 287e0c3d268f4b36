// Resource groups: made, changed, found, deleted with what they hold.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { begun, collect, fault, finish, generations, groupId, holders, machineId, newGroup, open, refused, told, version } from "./stand.mjs";

describe("groups", { concurrency: true }, () => {
  for (const generation of generations) {
    const prefix = generation.name.replace("arm-resources ", "g");

    describe(generation.name, { concurrency: 4 }, () => {
      test("create, update, exists, get", async () => {
        const { client, calls } = open(generation);
        const name = `${prefix}-Made`;
        assert.equal((await client.resourceGroups.checkExistence(name)).body, false);
        const made = await client.resourceGroups.createOrUpdate(name, { location: "West US", tags: { Env: "test" } });
        assert.equal(calls.at(-1).status, 201);
        assert.deepEqual([made.id, made.name, made.type, made.location], [groupId(name), name, "Microsoft.Resources/resourceGroups", "westus"]);
        assert.equal(made.properties.provisioningState, "Succeeded");
        await client.resourceGroups.createOrUpdate(name, { location: "westus", tags: { Env: "live" } });
        assert.equal(calls.at(-1).status, 200);
        assert.equal((await client.resourceGroups.checkExistence(name.toUpperCase())).body, true);
        assert.deepEqual((await client.resourceGroups.update(name, { tags: { a: "b" } })).tags, { a: "b" });
        const read = await client.resourceGroups.get(name.toLowerCase());
        assert.deepEqual([read.name, read.tags], [name, { a: "b" }]);
        const { details } = await refused(client.resourceGroups.createOrUpdate(name, { location: "eastus" }), 409, "InvalidResourceGroupLocation");
        assert.deepEqual([details.error.code, details.error.target], ["InvalidResourceGroupLocation", "location"]);
      });

      test("list by tag, page by page", async () => {
        const { client } = open(generation);
        const owner = `${prefix} it's O'Hara`;
        const names = [];
        for (let i = 0; i < 5; i++) names.push(await newGroup(client, { owner }));
        const other = await newGroup(client, { owner: "nobody" });
        const filter = `tagName eq 'owner' and tagValue eq '${owner.replaceAll("'", "''")}'`;
        const sizes = [], found = [];
        for await (const page of client.resourceGroups.list({ filter, top: 2 }).byPage()) {
          sizes.push(page.length);
          found.push(...page.map((group) => group.name));
        }
        assert.deepEqual(found.sort(), names.sort());
        assert.ok(sizes.length >= 3 && sizes.every((size) => size <= 2), `${sizes}`);
        const all = (await collect(client.resourceGroups.list())).map((group) => group.name);
        assert.ok([...names, other].every((name) => all.includes(name)));
      });

      test("delete with what it holds", async () => {
        const { client, calls } = open(generation);
        const group = await newGroup(client);
        const ids = ["westus", "eastus", "northeurope"].map((region) => [machineId(group, `vm-${region}`), region]);
        for (const [id, location] of ids) await client.resources.beginCreateOrUpdateByIdAndWait(id, version, { location });
        const poller = await client.resourceGroups.beginDelete(group);
        const { status, headers } = begun(calls); // 200 if it ended soon
        assert.ok(status === 200 || status === 202, `${status}`);
        assert.match(headers["retry-after"] ?? "none", status === 202 ? /^\d+$/ : /^none$/);
        await finish(poller);
        assert.equal((await client.resourceGroups.checkExistence(group)).body, false);
        for (const [id] of ids) assert.deepEqual(await holders(id), []);
        await refused(client.resourceGroups.beginDelete(group), 404, "ResourceGroupNotFound");
      });

      test("delete an empty one and wait", async () => {
        const { client } = open(generation);
        const group = await newGroup(client);
        await client.resourceGroups.beginDeleteAndWait(group);
        assert.equal((await client.resourceGroups.checkExistence(group)).body, false);
      });

      test("a deletion that is blocked tells what is left, and why", async () => {
        const { client, calls } = open(generation);
        const group = await newGroup(client);
        const stays = machineId(group, `${prefix}-stays`);
        await client.resources.beginCreateOrUpdateByIdAndWait(stays, version, { location: "eastus" });
        await fault("eastus", { method: "DELETE", pathContains: `${prefix}-stays`, fault: "status=423", count: -1 });
        const error = await refused(client.resourceGroups.beginDelete(group).then(finish), 409, "ResourceGroupDeletionBlocked");
        assert.match(error.message, new RegExp(`${prefix}-stays`));
        const { details } = told(calls);
        assert.deepEqual(details.map((detail) => detail.target), [stays]);
        assert.equal(details[0].code, "ContosoFault");
        assert.match(details[0].message, /was answered with 423/);
        assert.equal((await client.resourceGroups.get(group)).properties.provisioningState, "Succeeded");
      });
    });
  }
});
