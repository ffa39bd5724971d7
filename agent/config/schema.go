package config

import _ "embed" // the schema

// Schema is the JSON schema (2020-12) of config.json and mcp.json, with a
// description of each key: what an editor shows while a person writes them.
//
//go:embed config.schema.json
var Schema string
