// One line of JSON for each test that ended.
export default async function* (events) {
  const path = [];
  for await (const { type, data } of events) {
    if (type === "test:start") path[data.nesting] = data.name;
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.skip === "test name does not match pattern") continue;
    const failure = data.details?.error;
    const suite = data.details?.type === "suite";
    if (suite && (type === "test:pass" || failure?.failureType === "subtestsFailed")) continue;
    yield JSON.stringify({
      name: [...path.slice(0, data.nesting), data.name].join("/"),
      passed: type === "test:pass" && data.skip === undefined && data.todo === undefined,
      seconds: (data.details?.duration_ms ?? 0) / 1000,
      failure: failure && String((failure.cause ?? failure)?.stack ?? failure.message),
    }) + "\n";
  }
}
