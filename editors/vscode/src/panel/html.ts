/** The page of the chat view. Nothing in it comes from elsewhere: neither in it, nor loaded by it. */
export function page(o: { script: string; style: string; cspSource: string; nonce: string }): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${o.nonce}'`,
    `style-src ${o.cspSource}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${o.style}">
<title>agentls</title>
</head>
<body>
<script nonce="${o.nonce}" src="${o.script}"></script>
</body>
</html>
`;
}
