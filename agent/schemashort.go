package agent

import (
	"encoding/json"
	"fmt"
)

// shortened encodes a schema, and takes away what is least missed until it is
// short enough: a tool must not crowd out the others.
func shortened(schema map[string]any) json.RawMessage {
	text := marshal(schema)
	size := len(text)
	for step := 1; len(text) > maxSchemaText && step <= 3; step++ {
		less := less(schema, 0, step).(map[string]any) // what was a map stays one
		less["description"] = fmt.Sprintf("Shortened by agentls: the whole schema has %d bytes. An error says what does not fit.", size)
		text = marshal(less)
	}
	if len(text) > maxSchemaText {
		return json.RawMessage(emptySchema)
	}
	return text
}

// less copies a schema without words below the first level (step 1), without
// what lies deeper than three levels (2), or than one (3).
func less(v any, level, step int) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = less(v[i], level, step)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			_, text := value.(string)
			_, nested := value.(map[string]any)
			_, list := value.([]any)
			switch {
			case text && (key == "description" || key == "title"):
				if level <= 2 && step < 3 {
					out[key] = ellipsis(value.(string), 200)
				}
				continue
			case key == "examples" && list || key == "default" && !nested || key == "pattern" && text: // else it is an argument of that name
				continue
			case (nested || list) && key != "required" && (step == 2 && level >= 6 || step == 3 && level >= 2):
				continue
			case step == 3 && (key == "$defs" || key == "definitions" || key == "$ref"):
				continue
			}
			out[key] = less(value, level+1, step)
		}
		return out
	}
	return v
}
