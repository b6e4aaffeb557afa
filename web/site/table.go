package site

// kinds are the components, by the names that site files call them by.
var kinds map[string]Kind

func init() { // the kinds with components inside refer to the table
	kinds = map[string]Kind{
		"when": when(),
	}
}
