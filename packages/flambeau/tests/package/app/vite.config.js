export default {
  base: "./",
  worker: { format: "es" },
  // As the package's README says.
  optimizeDeps: { exclude: ["flambeau"] },
  server: { fs: { allow: [".."] } },
};
