// What is put on subscriptions, groups and resources alike: tags and locks.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ManagementLockClient } from "@azure/arm-locks";
import { collect, credential, finish, generations, groupId, machineId, newGroup, open, refused, second, version, watched } from "./stand.mjs";

for (const generation of generations) {
  describe(`tags, ${generation.name}`, () => {
    test("of subscription, group and resource", async () => {
      const { client } = open(generation);
      const group = await newGroup(client);
      const vm = machineId(group, "vm");
      await client.resources.beginCreateOrUpdateByIdAndWait(vm, version, { location: "eastus" });
      const scopes = [`/subscriptions/${second}`, groupId(group), vm];
      for (const scope of scopes) {
        const put = await client.tagsOperations.beginCreateOrUpdateAtScopeAndWait(scope, { properties: { tags: { Env: "prod", b: "2" } } });
        assert.deepEqual([put.id, put.name, put.type], [`${scope}/providers/Microsoft.Resources/tags/default`, "default", "Microsoft.Resources/tags"]);
        for (const [operation, tags, want] of [
          ["Merge", { ENV: "test", c: "3" }, { ENV: "test", b: "2", c: "3" }],
          ["Delete", { b: "2", c: "other" }, { ENV: "test", c: "3" }],
          ["Replace", { d: "4" }, { d: "4" }],
        ]) {
          const patched = await client.tagsOperations.beginUpdateAtScopeAndWait(scope, { operation, properties: { tags } });
          assert.deepEqual(patched.properties.tags, want, `${operation} on ${scope}`);
        }
        assert.deepEqual((await client.tagsOperations.getAtScope(scope)).properties.tags, { d: "4" });
      }
      assert.deepEqual((await client.resources.getById(vm, version)).tags, { d: "4" });
      assert.deepEqual((await client.resourceGroups.get(group)).tags, { d: "4" });
      for (const scope of scopes) {
        await client.tagsOperations.beginDeleteAtScopeAndWait(scope);
        assert.deepEqual((await client.tagsOperations.getAtScope(scope)).properties.tags, {});
      }
    });

    test("names and values defined ahead of their use", async () => {
      const { client } = open(generation);
      const name = `ahead ${generation.name}`;
      await refused(client.tagsOperations.createOrUpdateValue(name, "v"), 404, "TagNameNotFound");
      assert.equal((await client.tagsOperations.createOrUpdate(name)).tagName, name);
      assert.equal((await client.tagsOperations.createOrUpdateValue(name, "v")).tagValue, "v");
      const group = await newGroup(client, { [name]: "used" });
      const listed = (await collect(client.tagsOperations.list())).find((tag) => tag.tagName === name);
      assert.deepEqual(listed.values.map((value) => [value.tagValue, value.count.value]).sort(), [["used", 1], ["v", 0]]);
      await refused(client.tagsOperations.delete(name), 409, "TagNameInUse");
      await client.resourceGroups.beginDeleteAndWait(group);
      await client.tagsOperations.deleteValue(name, "v");
      await client.tagsOperations.delete(name);
      assert.ok(!(await collect(client.tagsOperations.list())).some((tag) => tag.tagName === name));
    });
  });

  describe(`locks in the way of ${generation.name}`, () => {
    const { options } = watched();
    const locks = new ManagementLockClient(credential, second, options);
    const { client } = open(generation, { subscription: second });
    const id = (group) => `${groupId(group, second)}/providers/Contoso.Compute/virtualMachines/vm`;

    test("on a subscription, a group, a resource", async () => {
      const group = await newGroup(client);
      const vm = id(group);
      await client.resources.beginCreateOrUpdateByIdAndWait(vm, version, { location: "westus" });
      const at = locks.managementLocks;
      const machine = [group, "Contoso.Compute", "", "virtualMachines", "vm"];
      for (const { scope, put, remove } of [
        {
          scope: `/subscriptions/${second}`,
          put: (body) => at.createOrUpdateAtSubscriptionLevel("l", body),
          remove: () => at.deleteAtSubscriptionLevel("l"),
        },
        {
          scope: groupId(group, second),
          put: (body) => at.createOrUpdateAtResourceGroupLevel(group, "l", body),
          remove: () => at.deleteAtResourceGroupLevel(group, "l"),
        },
        {
          scope: vm,
          put: (body) => at.createOrUpdateAtResourceLevel(...machine, "l", body),
          remove: () => at.deleteAtResourceLevel(...machine, "l"),
        },
        {
          scope: vm,
          put: (body) => at.createOrUpdateByScope(vm, "l", body),
          remove: () => at.deleteByScope(vm, "l"),
        },
      ]) {
        const made = await put({ level: "CanNotDelete", notes: "mine", owners: [{ applicationId: "app" }] });
        assert.deepEqual([made.name, made.type, made.level, made.notes, made.owners], ["l", "Microsoft.Authorization/locks", "CanNotDelete", "mine", [{ applicationId: "app" }]]);
        assert.equal(made.id.toLowerCase(), `${scope}/providers/Microsoft.Authorization/locks/l`.toLowerCase());
        const error = await refused(client.resources.beginDeleteById(vm, version), 409, "ScopeLocked");
        assert.match(error.message, /cannot perform delete operation because following scope\(s\) are locked/);
        await refused(client.resourceGroups.beginDelete(group), 409, "ScopeLocked");
        await client.resources.beginUpdateByIdAndWait(vm, version, { tags: { a: "b" } });
        await put({ level: "ReadOnly" });
        await refused(client.resources.beginUpdateById(vm, version, { tags: { a: "c" } }), 409, "ScopeLocked");
        assert.equal((await at.getByScope(scope, "L")).level, "ReadOnly");
        assert.deepEqual((await collect(at.listAtSubscriptionLevel())).map((lock) => lock.id), [made.id]);
        assert.deepEqual((await collect(at.listByScope(scope))).map((lock) => lock.id), [made.id]);
        await remove();
        await remove(); // there is none
        await refused(at.getByScope(scope, "l"), 404, "LockNotFound");
      }
      await finish(await client.resourceGroups.beginDelete(group));
    });
  });
}
