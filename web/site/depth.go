package site

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxDepth is how deep a site file may nest. The parser of HCL calls itself for each level, and a
// stack that overflows ends the process: with it a site that runs, whose file has become rubbish.
const maxDepth = 100

// tooDeep finds where a text is nested too deep. Signs before a term count as levels, since the
// parser takes them so.
func tooDeep(text []byte, file string) (at hcl.Range, deep bool) {
	// what is wrong with them, the parser says
	tokens, _ := hclsyntax.LexConfig(text, file, hcl.InitialPos)
	depth, signs := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenBang, hclsyntax.TokenMinus:
			signs++
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
		default:
			signs = 0
			depth += level(t.Type)
		}
		if depth+signs > maxDepth {
			return t.Range, true
		}
	}
	return hcl.Range{}, false
}

// level is 1 for what opens a level, and -1 for what closes one.
func level(t hclsyntax.TokenType) int {
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
