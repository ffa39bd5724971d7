" Where there is no tree-sitter parser for markdown.
if !exists('b:current_syntax')
  runtime! syntax/markdown.vim
  let b:current_syntax = 'agentls'
endif
