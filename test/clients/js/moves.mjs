// Resources go to another group, also of another subscription.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish, generations, groupId, holders, machineId, newGroup, open, refused, second, told, version } from "./stand.mjs";

describe("moves", { concurrency: true }, () => {
  for (const generation of generations) {
    describe(generation.name, { concurrency: 4 }, () => {
      const fill = async (client) => {
        const group = await newGroup(client);
        const ids = [];
        for (const location of ["westus", "eastus"]) {
          const made = await client.resources.beginCreateOrUpdateByIdAndWait(machineId(group, `vm-${location}`), version, { location });
          ids.push(made.id);
        }
        return { group, ids };
      };

      test("validate and move", async () => {
        const { client, calls } = open(generation);
        const { group, ids } = await fill(client);
        const elsewhere = open(generation, { subscription: second }).client;
        for (const [place, target] of [[client, groupId(await newGroup(client))], [elsewhere, groupId(await newGroup(elsewhere), second)]]) {
          const from = ids[0].split("/")[4];
          const resources = [...ids];
          await finish(await client.resources.beginValidateMoveResources(from, { resources, targetResourceGroup: target }));
          assert.equal(calls.at(-1).status, 204);
          for (const id of resources) assert.equal((await client.resources.checkExistenceById(id, version)).body, true);
          await finish(await client.resources.beginMoveResources(from, { resources, targetResourceGroup: target }));
          assert.equal(calls.at(-1).status, 204);
          for (const [i, id] of resources.entries()) {
            assert.equal((await client.resources.checkExistenceById(id, version)).body, false);
            ids[i] = target + id.slice(groupId(from).length);
            assert.equal((await place.resources.getById(ids[i], version)).id, ids[i]);
            assert.deepEqual(await holders(ids[i]), [["westus"], ["eastus"]][i]);
          }
          if (place === elsewhere) break;
        }
        assert.equal((await client.resourceGroups.checkExistence(group)).body, true);
      });

      test("what is refused, at once and by the provider", async () => {
        const { client, calls } = open(generation);
        const { group, ids } = await fill(client);
        const body = { location: "westus", properties: { linkedTo: ids[0] } };
        const nic = await client.resources.beginCreateOrUpdateAndWait(group, "Contoso.Compute", "", "networkInterfaces", "nic", version, body);
        const targetResourceGroup = groupId(await newGroup(client));
        const begin = (resources, target = targetResourceGroup) => client.resources.beginMoveResources(group, { resources, targetResourceGroup: target });
        await refused(begin(ids, groupId("js-none")), 400, "ResourceGroupNotFound");
        await refused(begin([machineId(group, "none")]), 404, "ResourceNotFound");
        await refused(begin(ids, groupId(group)), 400, "CannotMoveResource");
        const validation = client.resources.beginValidateMoveResources(group, { resources: [nic.id], targetResourceGroup });
        await refused(validation.then(finish), 409, "ResourceMoveProviderValidationFailed");
        await refused(begin(ids).then(finish), 409, "ResourceMoveFailed");
        const { details } = told(calls);
        assert.deepEqual(details.map((detail) => detail.target), [ids[0]]);
        assert.match(details[0].message, /MissingMoveDependentResources/);
        assert.equal((await client.resources.checkExistenceById(ids[0], version)).body, true);
      });
    });
  }
});
