/** The addresses of the catalogue's pages. */
export const cataloguePath = "/operator/catalogue";
export const previewPath = `${cataloguePath}/preview`;
export const applyPath = `${cataloguePath}/apply`;
export const historyPath = `${cataloguePath}/versions`;
export const rollbackPath = `${cataloguePath}/rollback`;
export const withdrawPath = `${cataloguePath}/withdraw`;
export const declinePath = `${cataloguePath}/decline`;

export function modelPath(id: string): string {
  return `${cataloguePath}/model?id=${encodeURIComponent(id)}`;
}

export function providerPath(name: string): string {
  return `${cataloguePath}/provider?name=${encodeURIComponent(name)}`;
}

export function versionPath(version: number): string {
  return `${historyPath}/${version}`;
}
