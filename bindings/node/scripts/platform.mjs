/** The name of this platform, as `ts/native.ts` looks for it. */
export function platform() {
  const { platform, arch } = process;
  if (platform === "win32") {
    return `${platform}-${arch}-msvc`;
  }
  const isMusl = process.report.getReport().header.glibcVersionRuntime === undefined;
  return platform === "linux" ? `${platform}-${arch}-${isMusl ? "musl" : "gnu"}` : `${platform}-${arch}`;
}
