/* What a oneDNN that is linked dynamically has under its own name. */
int dnnl_primitive_execute(const void* primitive);
int dnnl_primitive_execute(const void* primitive) {
  return primitive != 0;
}
