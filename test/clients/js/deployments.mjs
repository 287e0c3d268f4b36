// Deployments of templates, by the two generations of the SDK that have them: since
// arm-resources 7 they are a package of their own.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DeploymentsClient } from "@azure/arm-resourcesdeployments";
import * as v6 from "arm-resources-6";
import { begun, collect, credential, fault, finish, generations, groupId, holders, machineId, newGroup, open, refused, subscription, told, version, watched } from "./stand.mjs";

const deployers = [
  { name: "arm-resourcesdeployments 2", connect: (...of) => new DeploymentsClient(...of) },
  { name: "arm-resources 6", connect: (...of) => new v6.ResourceManagementClient(...of) },
];

function deployer({ connect }) {
  const { options, calls } = watched();
  return { client: connect(credential, subscription, options), calls };
}

const head = { $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", contentVersion: "1.0.0.0" };
const machine = { type: "Contoso.Compute/virtualMachines", apiVersion: version };

// modules deploys a nested template, and by a copy a machine in each of three regions, which are
// tagged with what it put out.
const modules = {
  ...head,
  parameters: { prefix: { type: "string" }, regions: { type: "array" } },
  resources: [
    {
      type: "Microsoft.Resources/deployments",
      apiVersion: "2022-09-01",
      name: "network",
      properties: {
        mode: "Incremental",
        expressionEvaluationOptions: { scope: "inner" },
        parameters: { name: { value: "[parameters('prefix')]" } },
        template: {
          ...head,
          parameters: { name: { type: "string" } },
          resources: [{ type: "Contoso.Compute/networkInterfaces", apiVersion: version, name: "[parameters('name')]", location: "westus", properties: {} }],
          outputs: { id: { type: "string", value: "[resourceId('Contoso.Compute/networkInterfaces', parameters('name'))]" } },
        },
      },
    },
    {
      ...machine,
      copy: { name: "machines", count: "[length(parameters('regions'))]" },
      name: "[format('{0}-{1}', parameters('prefix'), copyIndex())]",
      location: "[parameters('regions')[copyIndex()]]",
      tags: { network: "[reference('network').outputs.id.value]" },
      properties: {},
    },
  ],
  outputs: { network: { type: "string", value: "[reference('network').outputs.id.value]" } },
};

describe("deployments", { concurrency: true }, () => {
  for (const generation of deployers) {
    const mark = generation.name.at(-1);
    const groups = open(generations[0]).client;

    describe(generation.name, { concurrency: true }, () => {
      test("a nested module and a copy", async () => {
        const { client, calls } = deployer(generation);
        const group = await newGroup(groups);
        const regions = ["westus", "eastus", "northeurope"];
        const parameters = { prefix: { value: "net" }, regions: { value: regions } };
        const sent = { tags: { stage: "test" }, properties: { mode: "Incremental", template: modules, parameters } };
        assert.equal((await client.deployments.beginValidateAndWait(group, "whole", sent)).properties.provisioningState, "Succeeded");
        const made = await client.deployments.beginCreateOrUpdateAndWait(group, "whole", sent);
        assert.equal(begun(calls).status, 201);
        const network = `${groupId(group)}/providers/Contoso.Compute/networkInterfaces/net`;
        assert.deepEqual([made.name, made.tags, made.properties.provisioningState], ["whole", { stage: "test" }, "Succeeded"]);
        assert.deepEqual(made.properties.outputs, { network: { type: "String", value: network } });
        assert.deepEqual(made.properties.parameters.regions, { type: "Array", value: regions });
        for (const [i, region] of regions.entries()) {
          const id = machineId(group, `net-${i}`);
          assert.deepEqual(await holders(id), [region]);
          assert.equal((await groups.resources.getById(id, version)).tags.network, network);
          assert.ok(made.properties.outputResources.some((r) => r.id === id));
        }

        const { changes } = await client.deployments.beginWhatIfAndWait(group, "whole", { properties: sent.properties });
        assert.deepEqual(changes.map((change) => [change.resourceId, change.changeType]).sort(), [network, ...regions.map((_, i) => machineId(group, `net-${i}`))].sort().map((id) => [id, "NoChange"]));
        const steps = await collect(client.deploymentOperations.list(group, "whole"));
        assert.deepEqual(steps.map(({ properties: p }) => [p.targetResource.resourceName, p.provisioningState]).sort(), ["net-0", "net-1", "net-2", "network"].map((name) => [name, "Succeeded"]));
        const one = await client.deploymentOperations.get(group, "whole", steps[0].operationId);
        assert.deepEqual(one.properties, steps[0].properties);
        assert.deepEqual((await client.deployments.exportTemplate(group, "whole")).template, modules);
        const named = async (filter) => (await collect(client.deployments.listByResourceGroup(group, { filter, top: 1 }))).map((d) => d.name).sort();
        assert.deepEqual(await named(), ["network", "whole"]);
        assert.deepEqual(await named("provisioningState eq 'Failed'"), []);

        await client.deployments.beginDeleteAndWait(group, "whole");
        await refused(client.deployments.get(group, "whole"), 404, "DeploymentNotFound");
        assert.deepEqual(await holders(network), ["westus"]);
      });

      test("a fault by its code and details", async () => {
        const { client, calls } = deployer(generation);
        const group = await newGroup(groups);
        const name = `fails${mark}`;
        const of = (location) => ({ properties: { mode: "Incremental", template: { ...head, resources: [{ ...machine, name, location, properties: {} }] } } });
        const id = machineId(group, name);

        const refusal = await refused(client.deployments.beginCreateOrUpdate(group, "refused", of("moonbase")), 400, "InvalidTemplateDeployment");
        const { details } = refusal.details?.error ?? told(calls); // the newer one keeps the code alone
        assert.deepEqual(details.map((d) => [d.code, d.target]), [["LocationNotAvailableForResourceType", id]]);
        await fault("westus", { method: "PUT", pathContains: name, fault: "status=409", count: -1 });
        await assert.rejects(client.deployments.beginCreateOrUpdate(group, "failed", of("westus")).then(finish), /DeploymentFailed/); // the older one polls at once
        const { error } = JSON.parse(calls.at(-1).body);
        assert.deepEqual([error.code, error.details.map((d) => [d.code, d.target])], ["DeploymentFailed", [["ContosoFault", id]]]);
        const failed = (await client.deployments.get(group, "failed")).properties;
        assert.deepEqual([failed.provisioningState, failed.error.code, failed.error.details[0].code, failed.error.details[0].target], ["Failed", "DeploymentFailed", "ContosoFault", id]);
        const [step] = await collect(client.deploymentOperations.list(group, "failed"));
        assert.deepEqual([step.properties.statusCode, step.properties.statusMessage.error.code], ["Conflict", "ContosoFault"]);
      });

      test("one that runs is canceled", async () => {
        const { client } = deployer(generation);
        const group = await newGroup(groups);
        const name = `waits${mark}`;
        await fault("eastus", { method: "PUT", pathContains: name, fault: "status=503", count: -1 }); // tried again and again
        const sent = { properties: { mode: "Incremental", template: { ...head, resources: [{ ...machine, name, location: "eastus", properties: {} }] } } };
        const poller = await client.deployments.beginCreateOrUpdate(group, "waits", sent);
        await refused(client.deployments.beginCreateOrUpdate(group, "waits", sent), 409, "DeploymentActive");
        await client.deployments.cancel(group, "waits");
        await assert.rejects(finish(poller), /cancel/i);
        assert.equal((await client.deployments.get(group, "waits")).properties.provisioningState, "Canceled");
      });
    });
  }
});
