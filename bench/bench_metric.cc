// The smallest job there is: writes one metric to the file that its second argument names.
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    return 78;
  }
  const int fd = open(argv[2], O_CREAT | O_WRONLY | O_TRUNC, 0644);
  constexpr char kMetrics[] = "{\"accuracy\": 0.5}\n";
  return write(fd, kMetrics, sizeof kMetrics - 1) == sizeof kMetrics - 1 ? 0 : 1;
}
