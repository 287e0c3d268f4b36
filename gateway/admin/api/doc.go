// Package api describes the admin listener: the operations that it has, and the JSON that
// they take and answer. The listener's handlers, its OpenAPI document, the commands of
// cmd/portico and the console all follow this one description.
//
// A file per resource holds its operations and its values. The values are plain: they
// import nothing of the gateway.
package api
