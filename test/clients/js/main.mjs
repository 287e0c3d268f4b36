// All tests, in their order: those that end the gateway come last.
import "./groups.mjs";
import "./resources.mjs";
import "./operations.mjs";
import "./moves.mjs";
import "./scopes.mjs";
import "./subscriptions.mjs";
import "./errors.mjs";
import "./deployments.mjs";
import "./restarts.mjs";
