// Package config reads the configuration: what the operator wrote, together with the environment and the catalog.
//
// [Parse] checks the whole config, so that nothing starts with half of one. It gets everything that it looks at, the bytes of the
// file and the environment, from its caller: equal sources give equal configs. Each error names the file, the line and the
// key, and never a value that could be a secret.
//
//	file.go      position.go          limits.go, tools.go, serve.go, provider.go ...   config.go
//	the tables   the line of a key    one section each: defaults, checks, meaning      the whole
//	as written
//
// [Compare] tells how two configs differ, by the keys of the file.
//
// Inside the package, files depend in one direction: file, position, address, limits, tools, serve, context, dialects, agents,
// login, variable, network, provider, inputs, config.
package config
