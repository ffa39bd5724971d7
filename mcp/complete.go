package mcp

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
