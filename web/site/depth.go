package site

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxDepth is the maximum nesting depth of a site file. The HCL parser recurses for each level, and
// a stack overflow would end the process, with the site that is running in it.
const maxDepth = 100

// findTooDeep reports whether a text is nested too deeply, and where. Unary operators before a term
// count as levels, since the parser recurses for each.
func findTooDeep(text []byte, file string) (at hcl.Range, deep bool) {
	// the parser reports invalid tokens
	tokens, _ := hclsyntax.LexConfig(text, file, hcl.InitialPos)
	depth, signs := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenBang, hclsyntax.TokenMinus:
			signs++
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
		default:
			signs = 0
			depth += depthChange(t.Type)
		}
		if depth+signs > maxDepth {
			return t.Range, true
		}
	}
	return hcl.Range{}, false
}

// depthChange returns 1 for a token that opens a level, -1 for one that closes a level, otherwise
// 0.
func depthChange(t hclsyntax.TokenType) int {
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
		hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		return 1
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc,
		hclsyntax.TokenTemplateSeqEnd:
		return -1
	}
	return 0
}
