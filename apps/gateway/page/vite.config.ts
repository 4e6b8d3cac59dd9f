import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

// File names without hashes: they are inside the binary, which serves one version.
export default defineConfig({
  plugins: [preact()],
  build: {
    modulePreload: false,
    rollupOptions: {
      output: { entryFileNames: "assets/page.js", assetFileNames: "assets/page.[ext]" },
    },
  },
});
