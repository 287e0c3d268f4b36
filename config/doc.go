// Package config reads the one configuration file of the gateway, with what it
// includes: the settings of every part, the subscriptions, and the region map.
//
// Reading is strict and complete. A key that means nothing, a value that
// cannot be, an endpoint that is missing: each is a [Fault] with file and
// line, what is wrong and what is allowed instead. All faults of a
// configuration are found in one run, and a configuration with a fault is not
// used in any part, so that a running gateway can refuse a bad one and go on
// with what it has. What is merely unwise becomes a warning.
//
// The work goes in four steps: text to a tree of nodes that know where they
// stand, trees of several files to one, the tree to typed sections over their
// defaults, and last the checks that need the resolved map. Faults never quote
// secrets: token hashes, keys, data source names, or addresses that hold
// credentials.
//
// What is read tells itself: a reading can note each setting that it asks for,
// with its kind, default and legal values. With the sentences of meaning.go
// that makes the reference of the configuration and its JSON schema
// ([WriteReference], [WriteSchema]).
package config
