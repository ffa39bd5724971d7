package agent

// ModelNames gives the names under which the model is offered a server's tools
// now, by the server's own names. A tool that finds no room in a request has
// none.
func (a *Agent) ModelNames(server string) map[string]string {
	names := map[string]string{}
	for _, t := range a.toolset(true, DefaultWindow).byName {
		if t.server == server && !t.virtual {
			names[t.name] = t.model
		}
	}
	return names
}
