package mcp

// Mention is an `@server:uri` found in user input.
type Mention struct {
	Start, End int    // byte offsets in the text, End exclusive, '@' included
	Server     string // the configured name; empty for an unknown server
	Name       string // the mention name as written
	URI        string // byte for byte as the server listed it, or as written
	Known      bool   // the URI is in the server's cached list
	// Quoted: stands inside quotes, backticks or a fence and is left alone;
	// reported so that the front end can say so.
	Quoted bool
}

// Candidate is one completion of a mention.
type Candidate struct {
	Server   string // configured name
	Mention  string // mention name
	Resource *Resource
	Template *Template // set instead of Resource for a template
	// Insert is the whole mention to insert, '@' included, quoted where the
	// URI needs it. For a server alone it is "@name:".
	Insert string
	Label  string // title, else name, else URI
}
